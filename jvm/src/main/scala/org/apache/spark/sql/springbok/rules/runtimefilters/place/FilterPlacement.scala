package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.joins.{BaseJoinExec, CartesianProductExec}
import org.apache.spark.sql.execution.springbok.SummaryPlan
import org.apache.spark.sql.springbok.catalyst.{JoinSide, Sides}
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.JoinState

/** Which filters a plan gets, and where. */
final private[springbok] class FilterPlacement(plan: SparkPlan, planning: FilterPlanning) {
  private val targets = new FilterTargets(plan, planning)
  private val budget = FilterBudget.of(planning.conf)
  private val started = new StartedFilters(planning)

  /** The plan with its filters, which are not committed. If the budget refuses some, the plan is walked again without those. */
  def place(): (SparkPlan, PlacedFilters) = {
    val first = walk(Map.empty)
    val refused = budget.refused(first._2.requests)
    if (refused.isEmpty) first
    else {
      first._2.discard()
      walk(refused)
    }
  }

  private def walk(refused: Map[FilterBudget.Key, Reason]): (SparkPlan, PlacedFilters) = {
    val filters =
      new PlacedFilters(refused, targets, planning)
    val placed = new Walk(filters).down(plan, Nil)
    (if (targets.readsTwice) BuildSides.summarizedAlike(placed) else placed, filters)
  }

  /** One walk over the plan, from the root down. */
  private class Walk(filters: PlacedFilters) {

    def down(p: SparkPlan, pending: Seq[PendingFilter]): SparkPlan = p match {
      case e: Exchange if planning.places && targets.computedOnce(e) => whole(e)
      case j: BaseJoinExec if !j.isInstanceOf[CartesianProductExec] => join(j, pending)
      case _ if FilterTargets.isScan(p) => PendingFilter.attached(p, pending, planning.waiting.lateFilter())
      case _ if p.children.isEmpty => p
      case _ => children(p, pending)
    }

    private def whole(e: Exchange): SparkPlan = {
      for (j <- e.child.collect { case j: BaseJoinExec => j }; state <- JoinState.of(j))
        declineAll(j, state, Reason.reusedExchange)
      e
    }

    private def children(p: SparkPlan, pending: Seq[PendingFilter]): SparkPlan =
      p.withNewChildren(p.children.zipWithIndex.map { case (c, i) => down(c, route(p, i, pending)) })

    /** The pending filters that go to child `i`. */
    private def route(p: SparkPlan, i: Int, pending: Seq[PendingFilter]): Seq[PendingFilter] =
      pending.flatMap(f => targets.routes(p, f.key).collect { case KeyTrace.Route(`i`, key) => f.at(key) })

    private def join(j: BaseJoinExec, pending: Seq[PendingFilter]): SparkPlan =
      JoinState.of(j) match {
        case None => children(j, pending)
        case Some(state) =>
          val direction =
            if (!planning.places) Some(Left(Reason.modeOff(planning.mode.name)))
            else planning.direction(j)
          direction match {
            case Some(Right(creation)) => filtered(j, state, creation, pending)
            case other =>
              for (Left(why) <- other) declineAll(j, state, why)
              children(j, pending)
          }
      }

    /** The creation side is finished first: the canonical form that scans know it by has its own filters. */
    private def filtered(
        j: BaseJoinExec,
        state: JoinState,
        creation: JoinSide,
        pending: Seq[PendingFilter]
    ): SparkPlan = {
      val arriving = route(j, creation.index, pending)
      val built = down(Sides.children(j)(creation), arriving)
      val (made, own) = FilterSource.of(j, creation, built, planning.rows) match {
        case None => (built, Nil)
        case Some(source) =>
          make(built, CreationSide(j, state, creation, source, shrunk(j, creation, source, arriving)))
      }
      val applied =
        down(Sides.children(j)(creation.other), route(j, creation.other.index, pending) ++ own)
      j.withNewChildren(Sides(applied, applied).updated(creation, made).toSeq)
    }

    /** The fraction of the creation side's rows that arriving filters leave before they are read. */
    private def shrunk(
        j: BaseJoinExec,
        creation: JoinSide,
        source: FilterSource,
        arriving: Seq[PendingFilter]
    ): Double =
      if (source.conjuncts.exists(_.from.isDefined)) 1.0
      else
        arriving
          .flatMap(f => f.placed.retained.filter(_ => targets.reaches(Sides.children(j)(creation), f.key)))
          .product

    /** The creation side with a summary of the keys that filters are made of, and those filters. */
    private def make(built: SparkPlan, side: CreationSide): (SparkPlan, Seq[PendingFilter]) = {
      val source = side.source
      BuildSides.finishedStage(source.exchange).foreach(side.state.stageWait(source.exchange).finished)
      for (on <- FilterConjunct.of(side.join, side.side) if !source.conjuncts.exists(_.index == on.index))
        filters.decline(side.state, on, Reason.noSource)
      val placed = source.conjuncts.flatMap { on =>
        filters.place(new CreationKey(side, on, planning)) match {
          case Right(key) => Some(key)
          case Left(why) =>
            filters.decline(side.state, on, why)
            None
        }
      }
      val late = started.of(side)
      if (placed.isEmpty && late.isEmpty) (built, Nil)
      else {
        val exchange = source.exchange
        val marked = BuildSides.summarized(built, exchange, summaryPlan(exchange, placed, late))
        (marked, placed.map(p => PendingFilter(p.of.applicationKey, p, exchange)))
      }
    }

    private def summaryPlan(
        exchange: SparkPlan,
        placed: Seq[PlacedKey],
        late: Seq[StartedFilter]
    ): SummaryPlan = {
      val filters = placed.flatMap(_.filters.values) ++ late.map(_.filter)
      val keys =
        placed.map(k => k.of.sourceKey -> k.of.key.bloomBytes) ++ late.map(f => f.sourceKey -> f.bloomBytes)
      SummaryPlan(
        filters.map(f => s"${f.id} <- ${f.record.sourceKey}"),
        BuildSides.summarizedKeys(keys),
        planning.conf.getConf(FilterConf.IN_LIMIT),
        planning.mergeBytes(exchange),
        planning.taskBytes
      )
    }

    /** There is no creation side: the right side's keys stand for the join's. */
    private def declineAll(j: BaseJoinExec, state: JoinState, why: Reason): Unit =
      FilterConjunct.of(j, JoinSide.Right).foreach(filters.decline(state, _, why))
  }
}

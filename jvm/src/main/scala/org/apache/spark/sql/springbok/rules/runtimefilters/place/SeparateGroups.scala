package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.expressions.SortOrder
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.springbok.SummarizeKeysExec
import org.apache.spark.sql.springbok.catalyst.{JoinSide, Sides}
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterMode, FilterWait}
import org.apache.spark.sql.springbok.cost.{ChoicePolicy, CostConstants}
import org.apache.spark.sql.springbok.keys.FilterKey
import org.apache.spark.sql.springbok.physical.SeparateStage
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{JoinState, RelationHint}

/**
 * Puts an exchange above groups whose keys would filter the other side of a join well. The join computes such groups in its own
 * stage, because they are partitioned by its key already. Without the exchange, what HAVING leaves of an aggregate is known
 * only when the other side has been shuffled. With it, the groups are a stage that finishes first. Adaptive execution also
 * learns how few they are, and may broadcast them.
 *
 * {{{
 *   ShuffledHashJoin l_orderkey = k, LeftSemi          ShuffledHashJoin l_orderkey = k, LeftSemi
 *   :- Exchange                                        :- Exchange
 *   :  +- Scan lineitem                           =>   :  +- Scan lineitem, which a filter can reach now
 *   +- Filter sum > 300                                +- Exchange, as the aggregate's
 *      +- HashAggregate k                                 +- Filter sum > 300
 *         +- Exchange                                        +- HashAggregate k
 * }}}
 *
 * '''When''': no side of the join has a selective filter without it, and the filter is expected to save more than the shuffle
 * of the groups and one more stage cost. The shuffle is costed with the geometric mean of the groups' expected and possible
 * rows. Equal groups of several joins are shuffled once. This is decided when the join is planned for the first time, and
 * then stays: adaptive execution would take a plan with one more shuffle for a worse one.
 *
 * '''Why the answer cannot change''': the rows are partitioned by the same expressions into as many partitions as before,
 * so they meet the same rows. Nothing above depends on their order: a sort below the join makes it again.
 *
 * '''What it gives''': TPC-H q18 at scale 3 takes 8.8 s with it and 12.5 s without, q20 1.9 s and 2.0 s (medians of five runs by
 * turns, 2 cores).
 *
 * '''Setting''': `spark.springbok.runtimeFilter.separateGroups`.
 */
final private[springbok] class SeparateGroups(plan: SparkPlan, planning: FilterPlanning) {
  import SeparateGroups._
  private val conf = planning.conf
  private val policy = ChoicePolicy.of(conf)
  private lazy val targets = new FilterTargets(plan, planning)

  private def enabled: Boolean =
    conf.getConf(FilterConf.SEPARATE) && conf.exchangeReuseEnabled &&
      planning.mode == FilterMode.Global && conf.getConf(FilterConf.WAIT) != FilterWait.Never

  /** Decides for the joins that are planned for the first time, and gives the plan with the exchanges of all joins. */
  def separate(): SparkPlan = {
    val joins =
      if (!enabled) Nil
      else plan.collect { case j: BaseJoinExec => JoinState.of(j).map(j -> _) }.flatten
    val readers = joins.flatMap { case (j, state) => reader(j, state) }
    for ((_, same) <- readers.groupBy(_.groups.canonicalized)) {
      val (benefit, cost) = (same.map(_.benefitMs).sum, costMs(same.head.groups))
      if (same.exists(_.hinted) || benefit >= cost)
        for (r <- same; why = Reason.groupsSeparated(cost, benefit))
          r.join.place(_.copy(separated = Some((r.side, why))))
    }
    joins.foreach { case (_, state) => state.place(_.copy(searched = true)) }
    if (!joins.exists(_._2.filters.separated.isDefined)) plan
    else {
      val result = plan.transformUp { case j: ShuffledJoin => withExchange(j) }
      // Of two joins above the same groups, the lower one has the exchange.
      val made = result.collect { case e: Exchange => SeparateStage.joinOf(e) }.flatten
      readers.map(_.join).filterNot(made.contains).foreach(_.place(_.copy(separated = None)))
      result
    }
  }

  private def withExchange(j: ShuffledJoin): SparkPlan = {
    val separated =
      for (state <- JoinState.of(j); (side, _) <- state.filters.separated; g <- groups(j, side)) yield {
        val exchange = ShuffleExchangeExec(g.partitioning, g.groups)
        SeparateStage.mark(exchange, state)
        val child = if (g.order.isEmpty) exchange else SortExec(g.order, global = false, exchange)
        j.withNewChildren(Sides.children(j).updated(side, child).toSeq)
      }
    separated.getOrElse(j)
  }

  /** The groups that a join reads in its own stage, if an exchange may stand above them. */
  private def groups(j: ShuffledJoin, side: JoinSide): Option[Groups] = {
    val order = j.requiredChildOrdering(side.index)
    val below = Sides.children(j)(side) match {
      case s: SortExec if !s.global => s.child
      case p => p
    }
    below.outputPartitioning match {
      case h: HashPartitioning
          if (order.nonEmpty || below.outputOrdering.isEmpty) && h.references.subsetOf(below.outputSet) &&
            inStage(below).exists(KeyTrace.groups) && planning.deterministic(below) =>
        Some(Groups(below, h, order))
      case _ => None
    }
  }

  /** The groups of a join that is planned for the first time, and what their filter would save. */
  private def reader(j: BaseJoinExec, state: JoinState): Option[Reader] = j match {
    case s: ShuffledJoin if !state.filters.searched =>
      val found = FilterDirection.creationSides(s.joinType).flatMap(side => groups(s, side).map(side -> _))
      if (found.isEmpty || hasSelectiveFilter(s)) None
      else found.flatMap { case (side, g) => reader(s, state, side, g) }.maxByOption(_.benefitMs)
    case _ => None
  }

  /** Whether the join has a selective filter without an exchange above its groups. */
  private def hasSelectiveFilter(j: ShuffledJoin): Boolean = planning
    .direction(j)
    .exists(_.exists { creation =>
      FilterSource
        .of(j, creation, Sides.children(j)(creation), planning.rows)
        .exists(_.conjuncts.exists(planning.selectivity.selects(j, creation, _)))
    })

  private def reader(j: ShuffledJoin, state: JoinState, side: JoinSide, g: Groups): Option[Reader] = {
    val hinted = RelationHint.wants(j, side.other.index) ||
      policy.separatesGroups(state.id)
    val benefits = for {
      on <- FilterConjunct.of(j, side) if on.range.isEmpty && !RelationHint.forbids(j, side.other.index)
      key <- FilterKey.of(on.application).flatMap(FilterKey.atScan)
      retained <- planning.selectivity
        .retained(j, side, on)
        .map(_.fraction)
        .orElse(Option.when(hinted)(CostConstants.unknownRetained))
      if hinted || planning.selectivity.selects(j, side, on)
    } yield planning.ms((1 - retained) * targets.of(j, side.other, key).map(_.benefitNs).sum)
    benefits.maxOption.map(Reader(state, side, g.groups, _, hinted))
  }

  /** Time in ms of all cores for the shuffle of the groups and for one more stage. */
  private def costMs(groups: SparkPlan): Double =
    planning.rows
      .risked(groups)
      .fold(Double.PositiveInfinity)(n => planning.ms(n * CostConstants.shuffleNs)) + planning.minBenefitMs

  /** The joins whose exchange no filter is read from: it is not worth its shuffle. */
  def unused(placed: SparkPlan): Seq[JoinState] = placed.collect {
    case e: ShuffleExchangeExec if !e.child.isInstanceOf[SummarizeKeysExec] => SeparateStage.joinOf(e)
  }.flatten
}

private[springbok] object SeparateGroups {

  /** Groups below a join, how they are partitioned, and the order that the join needs. */
  final private case class Groups(groups: SparkPlan, partitioning: HashPartitioning, order: Seq[SortOrder])

  /** A join that reads groups, and what their filter is expected to save it, in ms of all cores. */
  final private case class Reader(
      join: JoinState,
      side: JoinSide,
      groups: SparkPlan,
      benefitMs: Double,
      hinted: Boolean
  )

  /** The operators of the stage that computes `p`, from it down. */
  private def inStage(p: SparkPlan): Seq[SparkPlan] = p match {
    case _: Exchange | _: QueryStageExec => Nil
    case _ => p +: p.children.flatMap(inStage)
  }
}

package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.expressions.SortOrder
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.springbok.SummarizeKeysExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterMode, FilterWait}
import org.apache.spark.sql.springbok.cost.{ChoicePolicy, Cluster, FilterCost}
import org.apache.spark.sql.springbok.keys.FilterKey
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{FilterHint, JoinState}

/**
 * Puts an exchange above groups that a join computes in its own stage, as they are partitioned by its key already, where
 * their keys would filter much: what HAVING leaves of an aggregate is known once it has run, and then the other side has
 * been shuffled. With an exchange of their own the groups are a stage that finishes first; adaptive execution learns how
 * few they are as well, and may broadcast them.
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
 * '''When''': no side of the join has a selective filter without it; what the filter is expected to save is more than the
 * shuffle of the groups, counted with the geometric mean of the rows that are expected and that are possible, and a stage.
 * Groups that several joins read alike are shuffled once. Decided when the join is planned first, and not again: adaptive
 * execution would take a shuffle more for a worse plan.
 *
 * '''Why the answer cannot change''': the rows are partitioned by the same expressions into as many partitions as they
 * were, so they meet the same rows; nothing above depends on their order, which a sort below the join makes anew.
 *
 * '''Setting''': `spark.springbok.runtimeFilter.separateGroups`.
 */
final private[springbok] class SeparateGroups(
    plan: SparkPlan,
    estimates: JoinEstimates,
    adaptive: Boolean,
    conf: SQLConf
) {
  import SeparateGroups._
  private val policy = ChoicePolicy.of(conf)
  private lazy val targets = new FilterTargets(plan, estimates)
  private lazy val cores = Cluster.of(SparkSession.active.sparkContext, conf).cores

  private def enabled: Boolean =
    adaptive && conf.getConf(FilterConf.SEPARATE) && conf.exchangeReuseEnabled &&
      conf.getConf(FilterConf.MODE) == FilterMode.Global && conf.getConf(
        FilterConf.WAIT
      ) != FilterWait.Never

  /** The plan with the exchanges that pay. */
  def separated: SparkPlan = {
    val joins =
      if (!enabled) Nil
      else plan.collect { case j: BaseJoinExec => JoinState.of(j).map(j -> _) }.flatten
    val asking = joins.flatMap { case (j, r) => asked(j, r) }
    for ((_, readers) <- asking.groupBy(_.groups.canonicalized)) {
      val (benefit, cost) = (readers.map(_.benefitMs).sum, costMs(readers.head.groups))
      if (readers.exists(_.wanted) || benefit >= cost)
        for (r <- readers) r.join.separateGroups(r.side, Reason.groupsSeparated(cost, benefit))
    }
    joins.foreach { case (_, r) => r.firstPlanned = true }
    if (!joins.exists(_._2.separated.isDefined)) plan
    else {
      val result = plan.transformUp { case j: ShuffledJoin =>
        val apart =
          for (r <- JoinState.of(j); s <- r.separated; g <- groups(j, s)) yield {
            val exchange = ShuffleExchangeExec(g.partitioning, g.groups)
            exchange.setTagValue(tag, r)
            val child =
              if (g.order.isEmpty) exchange else SortExec(g.order, global = false, exchange)
            j.withNewChildren(j.children.updated(s, child))
          }
        apart.getOrElse(j)
      }
      // Of two joins above the same groups the lower one has the exchange.
      val made = result.collect { case e: Exchange => e.getTagValue(tag) }.flatten
      asking.map(_.join).filterNot(made.contains).foreach(_.keepGroups())
      result
    }
  }

  /** The groups that a join reads in its own stage, if an exchange may stand above them. */
  private def groups(j: ShuffledJoin, side: Int): Option[Groups] = {
    val order = j.requiredChildOrdering(side)
    val below = j.children(side) match {
      case s: SortExec if !s.global => s.child
      case p => p
    }
    below.outputPartitioning match {
      case h: HashPartitioning
          if (order.nonEmpty || below.outputOrdering.isEmpty) && h.references.subsetOf(below.outputSet) &&
            inStage(below).exists(KeyTrace.groups) && estimates.deterministic(below) =>
        Some(Groups(below, h, order))
      case _ => None
    }
  }

  /** What a join that is planned for the first time would have a filter of. */
  private def asked(j: BaseJoinExec, record: JoinState): Option[Reader] = j match {
    case s: ShuffledJoin if !record.firstPlanned =>
      val apart = JoinEstimates.sources(s.joinType).flatMap(side => groups(s, side).map(side -> _))
      if (apart.isEmpty || selective(s)) None
      else apart.flatMap { case (side, g) => reader(s, record, side, g) }.maxByOption(_.benefitMs)
    case _ => None
  }

  /** Whether the join has a selective filter as it is. */
  private def selective(j: ShuffledJoin): Boolean = estimates
    .direction(j)
    .exists(_.exists { d =>
      estimates.source(j, d, j.children(d.source)).exists(_.keys.exists(estimates.selects(j, d, _)))
    })

  private def reader(j: ShuffledJoin, record: JoinState, side: Int, g: Groups): Option[Reader] = {
    val d = Direction(side)
    val wanted = FilterHint.wants(j, 1 - side) ||
      policy.separatesGroups(record.id)
    val benefits = for {
      on <- FilterOn.of(j, d) if on.range.isEmpty && !FilterHint.forbids(j, 1 - side)
      key <- FilterKey.of(on.probe).filter(FilterKey.admissible)
      kept <- estimates.kept(j, d, on).map(_.kept).orElse(Option.when(wanted)(FilterCost.unknownKept))
      if wanted || estimates.selects(j, d, on)
    } yield {
      val ns = targets.of(j.children(1 - side), key, targets.own(j)).map(_.benefitNs).sum
      (1 - kept) * ns / 1e6 / cores
    }
    benefits.maxOption.map(Reader(record, side, g.groups, _, wanted))
  }

  /** Time in ms of all cores that the shuffle of the groups takes, and a stage. */
  private def costMs(groups: SparkPlan): Double =
    estimates.risked(groups).fold(Double.PositiveInfinity)(_ * FilterCost.shuffle / 1e6 / cores) +
      conf.getConf(FilterConf.MIN_BENEFIT_MS).toDouble

  /** Takes the exchanges back that no filter is read from; whether there was one. */
  def withdrawn(placed: SparkPlan): Boolean = {
    val unused = placed.collect {
      case e: ShuffleExchangeExec if !e.child.isInstanceOf[SummarizeKeysExec] => e.getTagValue(tag)
    }.flatten
    unused.foreach(_.keepGroups())
    unused.nonEmpty
  }
}

private[springbok] object SeparateGroups {

  /** On an exchange that was put in: the join that it was put in for. */
  private val tag = TreeNodeTag[JoinState]("springbok.separate")

  /** Whether an exchange was put in. */
  def isApart(e: SparkPlan): Boolean = e.getTagValue(tag).isDefined

  /** Groups below a join, how they are partitioned, and the order that the join needs. */
  final private case class Groups(groups: SparkPlan, partitioning: HashPartitioning, order: Seq[SortOrder])

  /** A join that reads groups, and what their filter is expected to save it, in ms of all cores. */
  final private case class Reader(
      join: JoinState,
      side: Int,
      groups: SparkPlan,
      benefitMs: Double,
      wanted: Boolean
  )

  /** The operators of the stage that computes `p`, from it down. */
  private def inStage(p: SparkPlan): Seq[SparkPlan] = p match {
    case _: Exchange | _: QueryStageExec => Nil
    case _ => p +: p.children.flatMap(inStage)
  }
}

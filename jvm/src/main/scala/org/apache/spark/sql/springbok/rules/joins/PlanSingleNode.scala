package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.expressions.{DynamicPruning, Expression, UserDefinedExpression}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.FullOuter
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.springbok.catalyst.{DeferredErrors, RuleGuard, Sides}
import org.apache.spark.sql.springbok.cost.{ChoicePolicy, Cluster, Strategy}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.PlanningState
import org.apache.spark.sql.springbok.stats.operator.PlanStats
import org.apache.spark.sql.springbok.stats.source.{Input, InputSize}

/**
 * Lets one task compute a query of little data, as Impala's single-node plan does. Such a query spends its time on starting
 * stages and broadcasts.
 *
 * {{{
 *   Aggregate grp                              Aggregate grp
 *   +- Join Inner, (k = d_k)                   +- Join Inner, (k = d_k), rightHint=(strategy=shuffle_hash)
 *      :- Project                        =>       :- Repartition 1, false
 *      :  +- facts                                :  +- Project
 *      +- Filter                                  :     +- facts
 *         +- dims                                 +- Repartition 1, false
 *                                                    +- Filter
 *                                                       +- dims
 * }}}
 *
 * Each side then has one partition, which satisfies every distribution. So Spark adds no exchanges.
 *
 * '''When''': the cluster has one core, which is never idle then; [[LeaveToSpark]] has left the query to Spark; its root aggregates, sorts or limits, so that its result
 * would be one partition with Spark as well; it reads few small files or cached tables; the estimated rows of all joins are
 * known and few; nothing of it may take long for other reasons, such as user-defined functions.
 *
 * '''Why the answer cannot change''': the same operators get the same rows, in other tasks. All expressions are
 * deterministic, so none depends on the partition of a row, and those that may raise an error see no more rows
 * ([[DeferredErrors]]). A hash table is built only from a side without a join, whose size is bounded by that of its files.
 *
 * '''Settings''': `spark.springbok.planning.budget`, `.cluster.*`.
 */
object PlanSingleNode extends Rule[LogicalPlan] {

  /** Bytes of all input, files of all tables, and rows of a join that one task may have. */
  private val (maxBytes, maxFiles, maxRows) = (8e6, 10, 1e6)

  /** Bytes in a hash table for each byte in a file. */
  private val unpacked = 32

  def apply(plan: LogicalPlan): LogicalPlan =
    PlanningState.leftToSpark(plan).filter(_ => mayChange(plan)).fold(plan) { query =>
      RuleGuard("PlanSingleNode", plan, Some(query)) {
        InputSize.held(plan).filter(fits(plan, _, query)).fold(plan)(input => alone(plan, query, input))
      }
    }

  private def alone(plan: LogicalPlan, query: PlanningState, input: Input): LogicalPlan = {
    val made = inOneTask(plan)
    PlanningState.leaveToSpark(made, query, Reason.oneTask(input.bytes))
    made
  }

  private def mayChange(plan: LogicalPlan): Boolean =
    !done(plan) && PlanningState.whyExcluded(plan).isEmpty && (forced || cluster.cores <= 1)

  /** The batch runs until nothing changes. */
  private def done(plan: LogicalPlan): Boolean = plan.exists(_.isInstanceOf[Repartition])

  private def fits(plan: LogicalPlan, input: Input, query: PlanningState): Boolean =
    !plan.exists(p => !isKnown(p) || !p.expressions.forall(isQuick) || defersErrors(p)) &&
      (forced || isSmall(plan, input, query))

  private def isSmall(plan: LogicalPlan, input: Input, query: PlanningState): Boolean =
    input.bytes <= math.min(maxBytes, memory / unpacked) && input.files <= maxFiles && returnsFew(plan) && {
      val stats = new PlanStats(None, query.lasting)
      !plan.exists(p => p.isInstanceOf[Join] && !stats(p).rows.exists(_.value <= maxRows))
    }

  private def forced: Boolean = ChoicePolicy.of(conf).ignoresCost

  private def cluster: Cluster = Cluster.of(SparkSession.active.sparkContext, conf)

  private def memory: Double = cluster.memoryPerTask(SparkSession.active.sparkContext.conf)

  /** A side that is brought into one partition computes all of its columns. */
  private def defersErrors(p: LogicalPlan): Boolean = p match {
    case j: Join =>
      j.children.exists(DeferredErrors.in(_, DeferredErrors.references(j))(_ => Nil).isDefined)
    case _ => false
  }

  private def returnsFew(plan: LogicalPlan): Boolean = plan match {
    case _: Aggregate | _: GlobalLimit | _: LocalLimit => true
    case s: Sort => s.global
    case Project(_, child) => returnsFew(child)
    case Filter(_, child) => returnsFew(child)
    case s: Subquery => returnsFew(s.child)
    case _ => false
  }

  private def isKnown(plan: LogicalPlan): Boolean = plan match {
    // The result of a full outer join counts as unpartitioned.
    case j: Join => j.joinType != FullOuter
    case _: Project | _: Filter | _: Aggregate | _: Sort | _: GlobalLimit | _: LocalLimit | _: Union |
        _: Window | _: WindowGroupLimit | _: Expand | _: Subquery =>
      true
    // InputSize knows which leaves are small.
    case _ => plan.children.isEmpty
  }

  private def isQuick(e: Expression): Boolean =
    e.deterministic && !e.exists {
      case _: UserDefinedExpression | _: DynamicPruning => true
      case _ => false
    }

  private def inOneTask(plan: LogicalPlan): LogicalPlan = plan match {
    case p if isScan(p) => Repartition(1, shuffle = false, p)
    case j: Join => hinted(j).mapChildren(inOneTask)
    // Spark takes these for unpartitioned whatever they read.
    case _: Union | _: Expand => Repartition(1, shuffle = false, plan.mapChildren(inOneTask))
    case p => p.mapChildren(inOneTask)
  }

  /** A leaf with the operators that Spark plans together with it. */
  private def isScan(plan: LogicalPlan): Boolean = plan match {
    case Project(_, child) => isScan(child)
    case Filter(_, child) => isScan(child)
    case _ => plan.children.isEmpty
  }

  /** A hash join that builds the smaller of the sides without a join, or Spark's choice if there is none. */
  private def hinted(j: Join): Join = j match {
    case ExtractEquiJoinKeys(_, leftKeys, rightKeys, _, _, _, _, _) =>
      val possible = PossibleStrategies.capabilities(j, Sides(leftKeys, rightKeys))
      // A hash table of the preserved side would have to track which of its rows have matched.
      val can = possible.hash.zip(possible.preserved).map { case (hash, preserved) => hash && !preserved }
      val sides: Seq[(BuildSide, LogicalPlan)] =
        Option.when(can.left)(BuildLeft -> j.left).toSeq ++ Option.when(can.right)(BuildRight -> j.right)
      sides
        .filter { case (_, side) => !side.exists(_.isInstanceOf[Join]) }
        .sortBy { case (_, side) => InputSize.held(side).fold(Double.MaxValue)(_.bytes) }
        .headOption
        .flatMap { case (build, _) => ApplyHint.of(Strategy.ShuffledHash(build)) }
        .fold(j)(hint => j.copy(hint = hint))
    case _ => j
  }
}

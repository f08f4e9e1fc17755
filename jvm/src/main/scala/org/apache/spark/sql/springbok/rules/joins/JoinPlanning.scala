package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.optimizer.JoinSelectionHelper
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical.{Join, JoinHint, LogicalPlan}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage
import org.apache.spark.sql.execution.datasources.FileSourceStrategy
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{
  EqualPlans,
  ExpressionLabel,
  OtherColumnarRules,
  PruningSubqueries,
  ResultLimit,
  SparkLimits,
  Survivable
}
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterMode, FilterWait, JoinConf}
import org.apache.spark.sql.springbok.cost.{
  BroadcastLimits,
  Cluster,
  Constraint,
  JoinChoice,
  MemoryLimits,
  Strategy
}
import org.apache.spark.sql.springbok.physical.PlanningEstimates
import org.apache.spark.sql.springbok.record.{
  JoinDecision,
  JoinState,
  JoinTexts,
  PlanningState,
  RunningQueries
}
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/** What all decisions of one planning share: estimates of the plan, the cluster and its limits. */
final private[joins] class JoinPlanning(val plan: LogicalPlan, query: PlanningState)
    extends JoinSelectionHelper {
  val conf: SQLConf = SQLConf.get
  val stats: PlanStats = PlanningEstimates(query.lasting)
  lazy val cluster: Cluster = Cluster.of(SparkSession.active.sparkContext, conf)
  private val shared = new SharedBuildSides(plan)

  lazy val limits: MemoryLimits = {
    val spark = SparkSession.active.sparkContext.conf
    MemoryLimits(
      BroadcastLimits(
        JoinConf.broadcastBytes(conf, measured = false),
        conf.getConf(JoinConf.BROADCAST_MEMORY_FRACTION),
        measuredBytes = JoinConf.broadcastBytes(conf, measured = true),
        heldElsewhere = RunningQueries.heldBeside(query),
        stored = query.storedBytes,
        sparkBytes = math.min(ResultLimit.bytes(spark), SparkLimits.broadcastBytes(conf))
      ),
      cluster.memoryPerTask(spark) * conf.getConf(JoinConf.SHUFFLED_HASH_MEMORY_FRACTION),
      conf.getConf(SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES),
      cluster.page(spark)
    )
  }

  /** Bytes above which no side is broadcast, measured or not. */
  lazy val largestBroadcast: Double =
    cluster.broadcastLimit(limits.broadcast.largest, limits.broadcast.heapFraction)

  /** Whether the user prefers sort-merge joins. Spark's default says so too, but a default is no wish. */
  val mergePreferred: Boolean =
    conf.contains(SQLConf.PREFER_SORTMERGEJOIN.key) && conf.preferSortMergeJoin

  /** Whether scans may wait for filters of other stages. */
  lazy val filtersScans: Boolean =
    conf.adaptiveExecutionEnabled && conf.exchangeReuseEnabled &&
      conf.getConf(FilterConf.MODE) == FilterMode.Global && conf.getConf(
        FilterConf.WAIT
      ) != FilterWait.Never &&
      !scansAreReplaced

  /** Whether a native engine reads files of this plan. There is no physical plan yet, so it is shown the scans alone. */
  private def scansAreReplaced: Boolean = OtherColumnarRules.all.nonEmpty &&
    plan.collectLeaves().flatMap(FileSourceStrategy(_)).exists(OtherColumnarRules.replacing(_).isDefined)

  private val joins = new EqualPlans(plan.collect { case j: Join => j })

  /** Whether the plan seems to have the join more than once. */
  def isRepeated(j: Join): Boolean = joins.alike(j).size > 1

  private lazy val prunings = PruningSubqueries.of(plan)

  private val copiedJoins = new EqualPlans(prunings.flatMap(_.buildQuery.collect { case j: Join => j }))

  /**
   * Whether dynamic partition pruning reads one of the join's keys, or has a copy of the join: Spark plans that copy, and
   * prunes only if the side that is broadcast is equal.
   */
  def feedsPruning(j: Join): Boolean = prunings.nonEmpty && {
    val keys = j match {
      case ExtractEquiJoinKeys(_, left, right, _, _, _, _, _) => left ++ right
      case _ => Nil
    }
    keys.exists(k => prunings.exists(_.buildKeys.exists(_.semanticEquals(k)))) ||
    copiedJoins.of(j).nonEmpty
  }

  /** Joins of the plan that one broadcast of this side by these keys would serve, at least 1. */
  def sharing(side: LogicalPlan, keys: Seq[Expression]): Int =
    if (keys.isEmpty) 1 else shared.of(side, keys)

  /** Whether Spark itself takes the side for small enough to broadcast. */
  def smallForSpark(side: LogicalPlan): Boolean = canBroadcastBySize(side, conf)
}

/** Gives joins their states, which the log and the report show. */
private[joins] object JoinStates {

  def add(j: Join, query: PlanningState): JoinState = query.addJoin { id =>
    // Without the join: the texts are made when somebody reads them.
    val (left, right, other) = j match {
      case ExtractEquiJoinKeys(_, l, r, o, _, _, _, _) => (l, r, o)
      case _ => (Nil, Nil, j.condition)
    }
    def texts =
      JoinTexts(left.map(ExpressionLabel), right.map(ExpressionLabel), other.map(ExpressionLabel))
    new JoinState(query, id, JoinState.typeName(j.joinType), texts, j.hint, sparks(j))
  }

  /** What Spark's own planner makes of a join, by the sizes that it knows. */
  private def sparks(j: Join): Option[Strategy] = {
    // Spark warns of hints that it cannot follow, once more when it plans the join.
    val quiet =
      if (j.hint == JoinHint.NONE) j
      else j.copy(hint = UserHints.possible(j.hint, PossibleStrategies.hints(j)))
    SparkSession.active.sessionState.planner.JoinSelection(quiet).collectFirst { case p: BaseJoinExec =>
      Strategy.of(p)
    }
  }

  /**
   * The plan as it is, with its joins on record, so that the report shows the failure. A join whose record is what failed
   * stays without one.
   */
  def undecided(plan: LogicalPlan, query: PlanningState): LogicalPlan = {
    plan.foreach {
      case j: Join if JoinState.isMissing(j) =>
        for (r <- added(j, query)) {
          val undecided = JoinDecision(JoinChoice.spark(Constraint.RuleFailed), None, None, None)
          r.decide(_.decided(undecided, held = 0))
          j.setTagValue(JoinState.tag, r)
          j.setTagValue(JoinState.decisionTag, undecided)
        }
      case _ =>
    }
    plan
  }

  private def added(j: Join, query: PlanningState): Option[JoinState] =
    try Some(add(j, query))
    catch { case e if Survivable(e) => None }
}

/**
 * How many joins of a plan could look up the same broadcast: Spark makes a broadcast once for all build sides that are
 * the same rows with the same keys. Only sides without a join of their own are looked at: dimensions that a query reads
 * again in each branch of a union or each use of a CTE.
 */
final private[springbok] class SharedBuildSides(plan: LogicalPlan) {
  private lazy val keys: Seq[(LogicalPlan, Seq[Expression])] =
    plan
      .collect { case j @ ExtractEquiJoinKeys(_, lk, rk, _, _, _, _, _) => Seq(j.left -> lk, j.right -> rk) }
      .flatten
      .filterNot { case (side, _) => joins(side) }
  private val sides = new EqualPlans(keys.map(_._1))

  /** Joins that a broadcast of this side by these keys would serve, at least 1. */
  def of(side: LogicalPlan, by: Seq[Expression]): Int =
    if (joins(side) || sides.alike(side).size < 2) 1
    else {
      val same = sides.of(side)
      math.max(1, keys.count { case (s, k) => same.exists(_ eq s) && normal(s, k) == normal(side, by) })
    }

  private def normal(side: LogicalPlan, keys: Seq[Expression]): Seq[Expression] =
    keys.map(QueryPlan.normalizeExpressions(_, side.output))

  private def joins(p: LogicalPlan): Boolean = p.exists {
    case _: Join => true
    case s: LogicalQueryStage => joins(s.logicalPlan)
    case _ => false
  }
}

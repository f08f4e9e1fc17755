package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.expressions.{DynamicPruningSubquery, Expression}
import org.apache.spark.sql.catalyst.optimizer.JoinSelectionHelper
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreePattern.DYNAMIC_PRUNING_SUBQUERY
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.datasources.FileSourceStrategy
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{LeafNames, OtherColumnarRules, ResultLimit, SparkLimits}
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterMode, FilterWait, JoinConf}
import org.apache.spark.sql.springbok.cost.{BroadcastLimits, Cluster, MemoryLimits}
import org.apache.spark.sql.springbok.physical.PlanningEstimates
import org.apache.spark.sql.springbok.record.{PlanningState, RunningQueries}
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

  private lazy val joinsOfTables =
    plan.collect { case j: Join => LeafNames.of(j) }.groupBy(identity).map { case (t, all) => t -> all.size }

  /** Whether the plan seems to have the join more than once. */
  def isRepeated(j: Join): Boolean = joinsOfTables.get(LeafNames.of(j)).exists(_ > 1)

  private lazy val pruningKeys: Seq[Expression] =
    if (!plan.containsPattern(DYNAMIC_PRUNING_SUBQUERY)) Nil
    else
      plan.flatMap(_.expressions.flatMap(_.collect { case d: DynamicPruningSubquery => d.buildKeys })).flatten

  /** Whether dynamic partition pruning reads one of these keys. */
  def feedsPruning(keys: Seq[Expression]): Boolean =
    keys.exists(k => pruningKeys.exists(_.semanticEquals(k)))

  /** Joins of the plan that one broadcast of this side by these keys would serve, at least 1. */
  def sharing(side: LogicalPlan, keys: Seq[Expression]): Int =
    if (keys.isEmpty) 1 else shared.of(side, keys)

  /** Whether Spark itself takes the side for small enough to broadcast. */
  def smallForSpark(side: LogicalPlan): Boolean = canBroadcastBySize(side, conf)
}

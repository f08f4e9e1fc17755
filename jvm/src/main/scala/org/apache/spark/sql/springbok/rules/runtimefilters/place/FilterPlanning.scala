package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{OtherColumnarRules, ResultLimit}
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterMode}
import org.apache.spark.sql.springbok.cost.Cluster
import org.apache.spark.sql.springbok.physical.PhysicalRows
import org.apache.spark.sql.springbok.record.PlanningState
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/**
 * What all steps of one planning share: settings, and estimates that are made once.
 *
 * @param plan
 *   without the filters of this planning
 * @param adaptive
 *   whether adaptive execution runs the plan
 */
final private[springbok] class FilterPlanning(
    plan: SparkPlan,
    val query: PlanningState,
    val stats: PlanStats,
    val adaptive: Boolean,
    val conf: SQLConf
) {
  val rows = new PhysicalRows(stats)
  val costs = new OperatorCost(rows)
  val selectivity = new FilterSelectivity(rows, conf)
  val deterministic = new Determinism
  val direction = new FilterDirection(rows, selectivity, deterministic, adaptive, conf)
  val known = new KnownKeys(adaptive, conf)

  lazy val cluster: Cluster = Cluster.of(SparkSession.active.sparkContext, conf)
  lazy val waiting = new Waiting(new BuildTime(rows, costs, cluster.cores, conf), conf)

  val mode: FilterMode = conf.getConf(FilterConf.MODE)
  val minBenefitMs: Double = conf.getConf(FilterConf.MIN_BENEFIT_MS).toDouble
  val minRejection: Double = conf.getConf(FilterConf.MIN_REJECTION)

  /** Another extension's rule that replaces operators, as native engines have; it might not know a filter's operators. */
  lazy val columnarRule: Option[String] = OtherColumnarRules.replacing(plan)

  /** Bytes of summaries that the driver merges. Those of a broadcast are part of the result that Spark limits. */
  def mergeBytes(exchange: SparkPlan): Long = {
    val most = cluster.mergeLimit(conf.getConf(FilterConf.MERGE_BYTES))
    if (!BuildSides.isBroadcast(exchange)) most else math.min(most, resultLimit / 10)
  }

  /** Bytes of the summary of one task. Spark drops the result of any task, of a shuffle as well, that is above its limit. */
  def taskBytes: Long = math.min(cluster.summaryLimit, resultLimit / 4)

  private def resultLimit = ResultLimit.bytes(SparkSession.active.sparkContext.conf)

  /** Time in ms of all cores for work in ns of one core. */
  def ms(ns: Double): Double = ns / 1e6 / cluster.cores
}

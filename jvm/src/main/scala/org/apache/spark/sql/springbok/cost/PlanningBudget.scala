package org.apache.spark.sql.springbok.cost

import org.apache.spark.sql.catalyst.plans.logical.{Join, JoinHint, LogicalPlan}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.PlanningConf
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.stats.source.InputSize

/**
 * Whether a query has so little data that Springbok's rules would take more time than they may save.
 *
 * The rules save at most the work on the query's data. So the time of the rules is compared with a fraction of that work, both
 * in ms of one core. The constants are rough. A join of few bytes may still return many rows. Such a join is planned as Spark
 * alone plans it.
 *
 * '''Why the answer cannot change''': a query that is left to Spark has the plan that Spark makes.
 *
 * '''Setting''': `spark.springbok.planning.budget`.
 */
object PlanningBudget {

  /**
   * Time of all rules in ms: for a query, and in addition for each operator of its plan and each join. The latter two are those of
   * a JVM that has planned hundreds of queries. The rules of a young one are interpreted and its classes loaded: TPC-DS takes
   * 83 ms a query among its first 25 and still 27 ms among the sixth 25 (`planning-age`).
   */
  private val (queryMs, operatorMs, joinMs) = (20.0, 0.1, 1.5)

  /** Bytes of input that one core reads, joins and aggregates in a ms. */
  private val bytesPerMs = 50e3

  /** Time in ms of all rules, re-planning included. */
  def rulesMs(operators: Int, joins: Int): Double = queryMs + operators * operatorMs + joins * joinMs

  /** Time in ms of one core for the work on some bytes of input. */
  def workMs(bytes: Double): Double = bytes / bytesPerMs

  /** Why a query is left to Spark; None if it is planned. The query's own hints are always looked at. */
  def exceeded(plan: LogicalPlan, conf: SQLConf): Option[Reason] = {
    val joins = plan.collect { case j: Join => j }
    if (joins.isEmpty || joins.exists(_.hint != JoinHint.NONE)) None
    else ChoicePolicy.of(conf).whyLeftToSpark(tooLittle(plan, joins.size, conf.getConf(PlanningConf.BUDGET)))
  }

  /** Time in ms in which the footers and dictionaries of a table are read. */
  private val statisticsMs = 20.0

  /** Whether a plan reads so little that reading statistics of its tables takes longer than they may save. */
  def forbidsStatistics(plan: LogicalPlan, conf: SQLConf): Boolean = {
    val share = conf.getConf(PlanningConf.BUDGET)
    share > 0 && InputSize.of(plan).exists(i => workMs(i.bytes) * share < statisticsMs)
  }

  private def tooLittle(plan: LogicalPlan, joins: Int, share: Double): Option[Reason] =
    if (share <= 0) None
    else {
      val rules = rulesMs(plan.collect { case p => p }.size, joins)
      InputSize.of(plan).map(_.bytes).filter(workMs(_) * share < rules).map(Reason.littleData(_, rules))
    }
}

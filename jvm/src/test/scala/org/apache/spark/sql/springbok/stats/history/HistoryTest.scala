package org.apache.spark.sql.springbok.stats.history

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.conf.{FilterConf, HistoryConf, SpringbokConf}
import org.apache.spark.sql.springbok.record.PlanningState
import org.apache.spark.sql.springbok.report.SpringbokReport
import org.apache.spark.sql.springbok.report.model.{NodeEntry, QueryReport}
import org.apache.spark.sql.springbok.stats.estimate.{Estimate, Source}
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/** Runs queries that learn from each other. Each test starts with an empty history. */
abstract class HistoryTest extends SpringbokTest {
  override protected def sessionConf: Map[String, String] =
    super.sessionConf + (HistoryConf.ENABLED.key -> "true")

  protected val noFilters: (String, String) = FilterConf.MODE.key -> "OFF"

  protected def history: History = History.of(spark.sparkContext)

  override protected def beforeEach(): Unit = {
    super.beforeEach()
    settle()
    history.clear()
  }

  /** Until the queries that have ended have been learned from. */
  protected def settle(): Unit = spark.sparkContext.listenerBus.waitUntilEmpty(20000)

  /** Runs the query after checking that it answers as without Springbok, which teaches nothing. */
  protected def learned(sql: String): DataFrame = {
    val expected = conf(SpringbokConf.ENABLED.key -> "false") {
      val rows = sorted(spark.sql(sql).collect())
      settle()
      rows
    }
    val df = spark.sql(sql)
    assert(sorted(df.collect()) == expected, sql)
    settle()
    df
  }

  protected def report(df: DataFrame): QueryReport = SpringbokReport.of(execution(df))

  protected def nodes(df: DataFrame): Seq[NodeEntry] = report(df).fragments.flatMap(_.nodes)

  /**
   * Operators that were estimated from the history, with the factors by which the estimates were off. Not those whose rows
   * are others than their logical operators': runtime filters, cached tables and the lower halves of aggregates.
   */
  protected def fromHistory(df: DataFrame): Seq[(String, Double)] =
    for (n <- nodes(df) if n.history.isDefined && !isPart(n); e <- n.estimatedRows; o <- n.rows)
      yield {
        val (a, b) = (math.max(1.0, e), math.max(1.0, o.toDouble))
        n.operator -> math.max(a / b, b / a)
      }

  private def isPart(n: NodeEntry): Boolean =
    Set("RuntimeFilter", "InMemoryTableScan")(n.operator) || n.aggregate.exists(_.phase == "partial")

  /** The factors by which the estimated outputs of the joins were off. */
  protected def joinErrors(df: DataFrame): Seq[Double] = report(df).joins.flatMap(_.qError)

  /** The query that the history serves now. */
  protected def served: PlanStats = new PlanStats(lasting = new PlanStats.Lasting(QueryHistory.current()))

  protected def optimized(sql: String): LogicalPlan = execution(spark.sql(sql)).optimizedPlan

  /** The estimate for the first node of this kind. */
  protected def estimate(sql: String)(node: PartialFunction[LogicalPlan, LogicalPlan]): Estimate =
    served(optimized(sql).collectFirst(node).get)

  protected def isLearned(e: Estimate): Boolean = e.rows.exists(_.source.isInstanceOf[Source.History])

  protected def planned(df: DataFrame): PlanningState = PlanningState.of(execution(df).optimizedPlan).get
}

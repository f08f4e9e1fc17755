package org.apache.spark.sql.springbok.report

import com.codahale.metrics.{Counter, MetricRegistry}
import org.apache.spark.metrics.source.Source
import org.apache.spark.sql.springbok.catalyst.RuleGuard

/**
 * Counters of an application in Spark's metrics system, for all of its sinks: queries that have ended without failure and have
 * a join, joins that Spark alone would plan in another way, filters that were used, rows that they removed one by one, time in
 * ms in Springbok's rules, and failures of rules. The last two count all queries.
 */
final private[springbok] class QueryMetrics extends Source {
  override val sourceName: String = "springbok"
  override val metricRegistry: MetricRegistry = new MetricRegistry

  private val queries = metricRegistry.counter("queries")
  private val joinsChanged = metricRegistry.counter("joinsChanged")
  private val filtersUsed = metricRegistry.counter("filtersUsed")
  private val rowsRemoved = metricRegistry.counter("rowsRemoved")
  since("ruleTimeMs")(RuleGuard.spentNanos / 1000000)
  since("failures")(RuleGuard.failures)

  /** A counter of what has been counted elsewhere since the application began. */
  private def since(name: String)(total: => Long): Unit = {
    val before = total
    metricRegistry.register(name, new Counter { override def getCount: Long = total - before }): Unit
  }

  def add(c: QueryCounts): Unit = {
    queries.inc()
    joinsChanged.inc(c.changed.toLong)
    filtersUsed.inc(c.filtersUsed.toLong)
    rowsRemoved.inc(c.rowsRemoved)
  }
}

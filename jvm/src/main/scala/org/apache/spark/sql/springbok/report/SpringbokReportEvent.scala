package org.apache.spark.sql.springbok.report

import org.apache.spark.scheduler.SparkListenerEvent

/**
 * A query's report, for listeners and the event log. Its name and fields never change, because old logs have to stay readable.
 *
 * @param executionId
 *   the query's number in Spark's SQL tab
 * @param report
 *   JSON as `docs/report.schema.json` describes it; its `version` says of which format
 */
final case class SpringbokReportEvent(executionId: Long, report: String) extends SparkListenerEvent

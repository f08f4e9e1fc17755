package org.apache.spark.sql.springbok.report

import com.fasterxml.jackson.annotation.JsonIgnoreProperties
import org.apache.spark.scheduler.SparkListenerEvent
import org.apache.spark.sql.springbok.report.model.QueryReport

/**
 * A query's report, for listeners and the event log. Its name and fields never change, because old logs have to stay readable.
 *
 * @param executionId
 *   the query's number in Spark's SQL tab
 * @param report
 *   JSON as `docs/report.schema.json` describes it; its `version` says of which format
 */
@JsonIgnoreProperties(Array("forLog", "made"))
final case class SpringbokReportEvent(executionId: Long, report: String) extends SparkListenerEvent {
  private var forLog = false

  /** What the text says, for the application that has written it: reading a text takes as long as writing it. */
  @transient private[springbok] var made: Option[QueryReport] = None

  /** On the bus, the event log's own listener passes it by: `ReportEvents` writes each event, and once. */
  override protected[spark] def logEvent: Boolean = forLog

  /** The same event, to be written. */
  private[report] def toLog: SpringbokReportEvent = {
    val written = copy()
    written.forLog = true
    written
  }
}

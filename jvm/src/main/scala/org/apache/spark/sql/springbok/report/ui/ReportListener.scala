package org.apache.spark.sql.springbok.report.ui

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.springbok.report.{ReportJson, Words}
import org.apache.spark.sql.springbok.report.SpringbokReportEvent
import org.apache.spark.sql.springbok.report.page.ReportSummary
import org.apache.spark.status.ElementTrackingStore

/**
 * Keeps reports in Spark's status store, for the tab of a running application and of the History Server.
 *
 * @param most
 *   the number of reports that are kept; the oldest go first
 */
final private[springbok] class ReportListener(store: ElementTrackingStore, most: Int) extends SparkListener {
  store.addTrigger(classOf[StoredReport], most.toLong)(count => removeOldest(count - most))

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case e: SpringbokReportEvent => store.write(stored(e), checkTriggers = true): Unit
    case _ =>
  }

  private def stored(e: SpringbokReportEvent): StoredReport = {
    // A damaged text is kept as well. Its page says that it cannot be read.
    val r = e.made.orElse(Try(ReportJson.read(e.report)).toOption)
    val run = r.flatMap(_.execution)
    new StoredReport(
      executionId = e.executionId,
      report = e.report,
      which = r.fold("")(Words.which).take(ReportListener.whichLength),
      startMs = run.fold(0L)(_.startMs),
      durationMs = run.fold(0L)(_.durationMs),
      summary = r.map(ReportSummary(_))
    )
  }

  private def removeOldest(n: Long): Unit = if (n > 0) {
    val oldest = store.view(classOf[StoredReport]).max(n).asScala.map(_.executionId).toList
    oldest.foreach(store.delete(classOf[StoredReport], _))
  }
}

private object ReportListener {
  private val whichLength = 300
}

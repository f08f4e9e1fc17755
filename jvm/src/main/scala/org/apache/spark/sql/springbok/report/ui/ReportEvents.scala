package org.apache.spark.sql.springbok.report.ui

import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd, SparkListenerEvent}
import org.apache.spark.sql.springbok.conf.ReportConf
import org.apache.spark.sql.springbok.report.{LatestEntries, ReportJson, SpringbokReportEvent, Words}
import org.apache.spark.sql.springbok.report.model.QueryReport
import org.apache.spark.sql.springbok.report.page.ReportSummary
import org.apache.spark.status.ElementTrackingStore
import org.apache.spark.status.KVUtils.KVIndexParam

/**
 * Sends the reports of a context to its UI and its event log.
 *
 * A report is made after its query has ended. When a context stops, its bus takes no more events, although reports may still
 * be under way. The event log's own queue waits for them then, and writes them itself.
 */
final private[springbok] class ReportEvents(sc: SparkContext) {

  /** What a full queue has dropped never arrives. */
  private val underway = LatestEntries[Long, SpringbokReportEvent](ReportEvents.mostUnderway)
  private val made = new CountDownLatch(1)

  /** Adds the tab, and the listeners that fill it and the log. */
  def start(): Unit = {
    for (ui <- sc.ui) {
      val store = sc.statusStore.store.asInstanceOf[ElementTrackingStore]
      sc.listenerBus.addToStatusQueue(new ReportListener(store, sc.conf.get(ReportConf.UI_RETAINED)))
      new SpringbokTab(store, ui): Unit
    }
    if (sc.eventLogger.isDefined) sc.listenerBus.addToEventLogQueue(Logged)
  }

  /** Whether anything shows reports. */
  def wanted: Boolean = sc.ui.isDefined || sc.eventLogger.isDefined

  def post(event: SpringbokReportEvent): Unit = {
    if (sc.eventLogger.isDefined) underway.put(event.executionId, event): Unit
    sc.listenerBus.post(event)
  }

  /** The application has ended, and all its reports are made. */
  def end(): Unit = made.countDown()

  /** Runs in the thread that writes the event log. */
  private object Logged extends SparkListener {

    /** An event that was written at the end may still arrive. */
    private var ended = false

    override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
      case e: SpringbokReportEvent if !ended => write(e)
      case _ =>
    }

    override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = {
      made.await(ReportEvents.patienceSeconds, TimeUnit.SECONDS): Unit
      ended = true
      underway.synchronized(underway.values.asScala.toList).sortBy(_.executionId).foreach(write)
    }

    private def write(e: SpringbokReportEvent): Unit = {
      underway.remove(e.executionId)
      sc.eventLogger.foreach(_.onOtherEvent(e.toLog))
    }
  }
}

private[springbok] object ReportEvents {
  private val patienceSeconds = 10L

  /** Reports that may wait for the event log. */
  private val mostUnderway = 100

  /** The report as JSON, with less in it if the whole is larger than `most` bytes; None if even that is larger. */
  def bounded(r: QueryReport, whole: String, most: Long): Option[String] = {
    lazy val short = r.copy(joins = r.joins.map(_.copy(alternatives = Nil)))
    Iterator(() => whole, () => ReportJson.write(short), () => ReportJson.write(short.copy(fragments = Nil)))
      .map(_())
      .find(_.getBytes(UTF_8).length <= most)
  }
}

/**
 * A query of the tab, as Spark's status store keeps it.
 *
 * @param summary
 *   None if the report cannot be read
 */
final private[springbok] class StoredReport(
    @KVIndexParam val executionId: Long,
    val report: String,
    val which: String,
    val startMs: Long,
    val durationMs: Long,
    val summary: Option[ReportSummary]
)

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

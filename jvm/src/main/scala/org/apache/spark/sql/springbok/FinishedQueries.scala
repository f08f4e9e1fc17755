package org.apache.spark.sql.springbok

import java.util.{Collections, WeakHashMap}

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{
  SparkListener,
  SparkListenerApplicationEnd,
  SparkListenerEvent,
  SparkListenerJobStart
}
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.ui.{SparkListenerSQLExecutionEnd, SparkListenerSQLExecutionStart}
import org.apache.spark.sql.springbok.catalyst.{Fingerprint, RuleGuard, SparkThreads}
import org.apache.spark.sql.springbok.conf.{GuardConf, ReportConf, SpringbokConf}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.RunningQueries
import org.apache.spark.sql.springbok.report.{
  LastReports,
  QueryMetrics,
  ReportParts,
  Shadow,
  SpringbokReportEvent
}
import org.apache.spark.sql.springbok.report.model.ExecutionEntry
import org.apache.spark.sql.springbok.report.ui.ReportEvents
import org.apache.spark.sql.springbok.rules.guard.RunTimes

/**
 * What happens when a query of a context has ended. Its report is made: the session keeps it, and the UI and the event log
 * get it. The query's numbers are added to the application's metrics.
 *
 * Reports are made on a thread of their own: they may read files and ask the catalog, for which Spark's other listeners
 * would have to wait.
 *
 * '''Settings''': `spark.springbok.report.retained`, `.events`, `.maxBytes`, `.ui.retained`, `spark.springbok.guard.automatic`.
 */
final private[springbok] class FinishedQueries(events: ReportEvents, metrics: QueryMetrics)
    extends SparkListener {
  private val shadow = new Shadow

  override def onJobStart(event: SparkListenerJobStart): Unit = LastReports.started(event)

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case e: SparkListenerSQLExecutionStart =>
      RunningQueries.started(e.executionId)
      LastReports.started(e)
    case e: SparkListenerSQLExecutionEnd =>
      RunningQueries.ended(e.executionId)
      // A query that failed before it was planned has none.
      for (run <- LastReports.ended(e); qe <- Option(e.qe) if e.executionFailure.isEmpty)
        qe.sparkSession.withActive(RuleGuard("LastReports", (), None, planning = false)(report(run, qe)))
    case other => LastReports.event(other)
  }

  override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = events.end()

  private def report(run: ExecutionEntry, qe: QueryExecution): Unit = {
    val conf = qe.sparkSession.sessionState.conf
    val send = conf.getConf(ReportConf.EVENTS) && events.wanted
    if (conf.getConf(GuardConf.AUTOMATIC)) compare(run, qe)
    val made =
      if (conf.getConf(SpringbokConf.SHADOW) && conf.getConf(SpringbokConf.ENABLED))
        shadow.report(run, qe).map(LastReports.kept(_, run, qe))
      else
        ReportParts
          .stateOf(qe.optimizedPlan)
          .flatMap(LastReports.finished(run, qe, _, metrics, needed = send))
    for {
      (report, whole) <- made if send
      json <- ReportEvents.bounded(report, whole, conf.getConf(ReportConf.MAX_BYTES))
    } {
      val event = SpringbokReportEvent(run.id, json)
      event.made = Some(report)
      events.post(event)
    }
  }

  /** Runs that Springbok planned, beside those of the control group. */
  private def compare(run: ExecutionEntry, qe: QueryExecution): Unit =
    for (state <- ReportParts.stateOf(qe.optimizedPlan)) {
      val control = state.leftToSpark.contains(Reason.controlGroup)
      if (control || state.leftToSpark.isEmpty)
        RunTimes.add(Fingerprint.of(qe.analyzed), control, run.durationMs.toDouble)
    }
}

private[springbok] object FinishedQueries {
  private val contexts = Collections.newSetFromMap(new WeakHashMap[SparkContext, java.lang.Boolean]())

  /** Listens to a context, once. A stopped context takes no listeners. */
  def listenTo(sc: SparkContext): Unit = contexts.synchronized {
    if (!sc.isStopped && contexts.add(sc)) {
      // The queue's thread would keep what it inherits forever: this query's session and job group.
      val register: Runnable = () => {
        val (events, metrics) = (new ReportEvents(sc), new QueryMetrics)
        events.start()
        sc.listenerBus.addToQueue(new FinishedQueries(events, metrics), "springbok")
        sc.env.metricsSystem.registerSource(metrics)
      }
      val bare = SparkThreads.bare(register, "springbok-listener")
      bare.setContextClassLoader(getClass.getClassLoader)
      bare.start()
      try bare.join()
      catch { case _: InterruptedException => Thread.currentThread.interrupt() }
    }
  }
}

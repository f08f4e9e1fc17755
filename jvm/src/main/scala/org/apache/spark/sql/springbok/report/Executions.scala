package org.apache.spark.sql.springbok.report

import java.util.{Collections, Map => JMap, WeakHashMap}

import scala.util.Try

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.SparkListenerJobStart
import org.apache.spark.sql.execution.{QueryExecution, SQLExecution}
import org.apache.spark.sql.execution.ui.{SparkListenerSQLExecutionEnd, SparkListenerSQLExecutionStart}
import org.apache.spark.sql.springbok.conf.ReportConf
import org.apache.spark.sql.springbok.report.model.ExecutionEntry

/** The runs of queries, as Spark's events tell of them. Finished ones are kept as long as their queries. */
final private[springbok] class Executions {
  import Executions._

  /** An end that Spark's listener bus drops never comes, so the oldest ones go. */
  private val running = LatestEntries[Long, Running](mostRunning)

  private val finished: JMap[QueryExecution, ExecutionEntry] =
    Collections.synchronizedMap(new WeakHashMap())

  def started(e: SparkListenerSQLExecutionStart): Unit =
    running.put(e.executionId, Running(e.time, e.description)): Unit

  /** A job has the properties of the thread that started its query. */
  def job(e: SparkListenerJobStart): Unit = for {
    properties <- Option(e.properties)
    id <- Option(properties.getProperty(SQLExecution.EXECUTION_ID_KEY)).flatMap(p => Try(p.toLong).toOption)
  } running.computeIfPresent(
    id,
    (_, r) =>
      if (r.jobs) r
      else
        r.copy(
          jobs = true,
          jobDescription = Option(properties.getProperty(SparkContext.SPARK_JOB_DESCRIPTION)),
          jobGroup = Option(properties.getProperty(SparkContext.SPARK_JOB_GROUP_ID))
        )
  ): Unit

  /** The run that has ended; None if its query is not known. */
  def ended(e: SparkListenerSQLExecutionEnd): Option[ExecutionEntry] = {
    val run = Option(running.remove(e.executionId))
    Option(e.qe).map { qe =>
      def shown(text: Option[String]) = text.flatMap(QueryIdentity.shown(qe.sparkSession, _))
      // Servers describe a run by its SQL text.
      def described(text: Option[String]) =
        shown(text.filter(_ => qe.sparkSession.sessionState.conf.getConf(ReportConf.LITERALS)))
      val ms = e.duration / 1000000
      val entry = ExecutionEntry(
        id = e.executionId,
        action = e.executionName.fold("unknown")(action),
        startMs = run.fold(e.time - ms)(_.time),
        durationMs = ms,
        // Spark describes a run by its job description or, without one, by its call site.
        callSite = described(run.filter(r => r.jobs && r.jobDescription.isEmpty).map(_.description)),
        jobDescription = described(run.flatMap(_.jobDescription)),
        jobGroup = shown(run.flatMap(_.jobGroup))
      )
      finished.put(qe, entry)
      entry
    }
  }

  /** The last run of this very query. */
  def of(qe: QueryExecution): Option[ExecutionEntry] = Option(finished.get(qe))
}

private[springbok] object Executions {

  /** PySpark and SparkR run `collect` as `collectToPython`, and `toPandas` as `collectAsArrowToPython`. */
  private[report] def action(name: String): String = name.replaceFirst("(AsArrow)?To(Python|R)$", "")

  /** Runs that are under way. */
  private val mostRunning = 10000

  final private case class Running(
      time: Long,
      description: String,
      jobs: Boolean = false,
      jobDescription: Option[String] = None,
      jobGroup: Option[String] = None
  )
}

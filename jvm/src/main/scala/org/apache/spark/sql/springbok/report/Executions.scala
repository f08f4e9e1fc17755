package org.apache.spark.sql.springbok.report

import java.util.{Collections, Map => JMap, WeakHashMap}

import scala.util.Try

import com.codahale.metrics.{Counter, MetricRegistry}
import org.apache.spark.SparkContext
import org.apache.spark.metrics.source.Source
import org.apache.spark.scheduler.SparkListenerJobStart
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan, SQLExecution}
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.execution.ui.{SparkListenerSQLExecutionEnd, SparkListenerSQLExecutionStart}
import org.apache.spark.sql.springbok.catalyst.RuleGuard
import org.apache.spark.sql.springbok.conf.ReportConf
import org.apache.spark.sql.springbok.cost.Strategy
import org.apache.spark.sql.springbok.record.{FilterState, JoinState, PlanningState}
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

/**
 * Counters of an application in Spark's metrics system, for all of its sinks: queries that have ended without failure and have
 * a join, those of them that were left to Spark, joins that Spark alone would plan in another way, filters that were used, rows that
 * they removed one by one, ms of one core that they saved by estimate, ms that scans waited for them, ms in Springbok's rules,
 * and failures of rules. The last two count all queries.
 */
final private[springbok] class QueryMetrics extends Source {
  override val sourceName: String = "springbok"
  override val metricRegistry: MetricRegistry = new MetricRegistry

  private val queries = metricRegistry.counter("queries")
  private val leftToSpark = metricRegistry.counter("leftToSpark")
  private val joinsChanged = metricRegistry.counter("joinsChanged")
  private val filtersUsed = metricRegistry.counter("filtersUsed")
  private val rowsRemoved = metricRegistry.counter("rowsRemoved")
  private val savedCoreMs = metricRegistry.counter("savedCoreMs")
  private val waitedMs = metricRegistry.counter("waitedMs")
  since("ruleTimeMs")(RuleGuard.spentNanos / 1000000)
  since("failures")(RuleGuard.failures)

  /** A counter of what has been counted elsewhere since the application began. */
  private def since(name: String)(total: => Long): Unit = {
    val before = total
    metricRegistry.register(name, new Counter { override def getCount: Long = total - before }): Unit
  }

  def add(c: QueryCounts): Unit = {
    queries.inc()
    if (c.left) leftToSpark.inc()
    joinsChanged.inc(c.changed.toLong)
    filtersUsed.inc(c.filtersUsed.toLong)
    rowsRemoved.inc(c.rowsRemoved)
    savedCoreMs.inc(c.savedCoreMs)
    waitedMs.inc(c.waitedMs)
  }
}

/**
 * A finished query in a few numbers, which are counted without making its report.
 *
 * @param planned
 *   joins that Springbok decided and that the plan has
 * @param changed
 *   those of them that Spark alone would plan in another way
 * @param filters
 *   filters that were placed
 * @param rowsRemoved
 *   rows that filters removed one by one, after the scan
 * @param left
 *   whether the whole query is left to Spark
 * @param savedCoreMs
 *   what filters saved by estimate, see [[SavingsReport]]
 * @param waitedMs
 *   the longest time that a scan waited for a filter, of each join
 */
final private[springbok] case class QueryCounts(
    joins: Int,
    planned: Int,
    changed: Int,
    filters: Int,
    filtersUsed: Int,
    rowsRemoved: Long,
    left: Boolean,
    savedCoreMs: Long,
    waitedMs: Long
)

private[springbok] object QueryCounts {
  def of(state: PlanningState, plan: SparkPlan): QueryCounts = {
    val (filters, graph) = (state.filters.all, new PlanGraph(plan))
    val numbers = new PlanNumbers(graph, ran = true, state.lasting)
    val ours = graph.nodes.map(_.plan).collect { case j: BaseJoinExec if decided(j) => j }
    QueryCounts(
      joins = state.joins.size,
      planned = ours.size,
      changed = ours.count(j => JoinState.of(j).flatMap(_.sparkStrategy).exists(_ != Strategy.of(j))),
      filters = filters.count(_.number.isDefined),
      filtersUsed = filters.count(_.state.isInstanceOf[FilterState.Used]),
      rowsRemoved = FilterReport.rowsRemoved(graph),
      left = state.leftToSpark.isDefined,
      savedCoreMs = new SavingsReport(graph, numbers).entry.fold(0L)(_.coreMs.round),
      waitedMs = filters.groupBy(_.join).values.flatMap(_.flatMap(_.state.found.waitedMs).maxOption).sum
    )
  }

  private def decided(j: BaseJoinExec): Boolean =
    JoinState.decision(j).exists(_.choice.chosen != Strategy.Spark)
}

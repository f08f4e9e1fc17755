package org.apache.spark.sql.springbok.report

import java.io.{ByteArrayOutputStream, OutputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.{ArrayDeque, Collections, LinkedHashMap, Map => JMap, WeakHashMap}
import java.util.concurrent.TimeoutException
import java.util.zip.{DeflaterOutputStream, InflaterOutputStream}

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.internal.Logging
import org.apache.spark.scheduler.{SparkListenerEvent, SparkListenerJobStart}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.ui.{SparkListenerSQLExecutionEnd, SparkListenerSQLExecutionStart}
import org.apache.spark.sql.springbok.catalyst.Fingerprint
import org.apache.spark.sql.springbok.conf.ReportConf
import org.apache.spark.sql.springbok.record.PlanningState
import org.apache.spark.sql.springbok.report.model.{ExecutionEntry, QueryReport}

/**
 * The reports of the last queries of each session, as text. `count()`, `show()` and writes plan queries of their own, so the
 * DataFrame that a user holds does not know that it ran. Neither plans nor sessions are kept, and queries without a join
 * leave no report.
 *
 * '''Settings''': `spark.springbok.report.retained`.
 */
object LastReports extends Logging {

  /** `plans`: semantic hashes of the query's own plan and of those that an action may have put operators upon. */
  final private case class Entry(report: PackedText, plans: Set[Int])

  private val rings: JMap[SparkSession, ArrayDeque[Entry]] = Collections.synchronizedMap(new WeakHashMap())
  private val executions = new Executions
  private val thriftUsers = new ThriftUsers

  private[springbok] def started(e: SparkListenerSQLExecutionStart): Unit = executions.started(e)

  private[springbok] def event(e: SparkListenerEvent): Unit = thriftUsers.event(e)

  private[springbok] def started(e: SparkListenerJobStart): Unit = executions.job(e)

  private[springbok] def ended(e: SparkListenerSQLExecutionEnd): Option[ExecutionEntry] = executions.ended(e)

  /**
   * A query has ended: one line in the log, its numbers in the application's metrics, and its report.
   *
   * @param state
   *   what its planning has decided
   * @param needed
   *   whether the report is made even if no session keeps it
   * @return
   *   the report and its JSON; None if none was made
   */
  private[springbok] def finished(
      run: ExecutionEntry,
      qe: QueryExecution,
      state: PlanningState,
      metrics: QueryMetrics,
      needed: Boolean
  ): Option[(QueryReport, String)] = {
    val counts = QueryCounts.of(state, qe.executedPlan)
    metrics.add(counts)
    if (log.isInfoEnabled) logInfo(line(run, counts, qe))
    Option.when(retained(qe) > 0 || needed)(kept(SpringbokReport.of(qe).copy(execution = Some(run)), run, qe))
  }

  /** Keeps the report of a run in its session. */
  private[springbok] def kept(
      r: QueryReport,
      run: ExecutionEntry,
      qe: QueryExecution
  ): (QueryReport, String) = {
    val report = byUser(r, run)
    val json = ReportJson.write(report)
    if (retained(qe) > 0)
      keep(
        qe.sparkSession,
        retained(qe),
        Entry(PackedText(json), plans(qe.analyzed).map(_.semanticHash()).toSet)
      )
    (report, json)
  }

  private def retained(qe: QueryExecution): Int =
    qe.sparkSession.sessionState.conf.getConf(ReportConf.RETAINED)

  /** The report with the user of its Thrift session, if it has one. */
  private def byUser(r: QueryReport, run: ExecutionEntry): QueryReport =
    run.jobGroup.flatMap(thriftUsers.of).fold(r)(u => r.copy(query = r.query.copy(user = u)))

  /** The plan and what it stands upon, down to the first operator with several inputs. */
  private def plans(p: LogicalPlan): Seq[LogicalPlan] = p +: (p match {
    case u: UnaryNode => plans(u.child)
    case _ if p.children.isEmpty => p.innerChildren.collect { case l: LogicalPlan => l }.flatMap(plans)
    case _ => Nil
  })

  private def keep(session: SparkSession, history: Int, e: Entry): Unit = {
    val ring = rings.computeIfAbsent(session, _ => new ArrayDeque[Entry]())
    ring.synchronized {
      ring.addLast(e)
      while (ring.size > history) ring.removeFirst()
    }
  }

  /** For the log: neither names nor values of the query. */
  private[springbok] def line(run: ExecutionEntry, c: QueryCounts, qe: QueryExecution): String = {
    val application = qe.sparkSession.sparkContext.applicationId
    s"query ${run.id} of $application, fingerprint ${Fingerprint.of(qe.analyzed)}, ${QueryIdentity.statement(qe.logical)}, started ${run.startMs}, ${run.durationMs} ms: " +
      s"planned ${c.planned} of ${c.joins} joins, used ${c.filtersUsed} of ${c.filters} filters, " +
      s"which removed ${c.rowsRemoved} rows"
  }

  /** The session's last `n` reports as JSON, the newest first. */
  def last(session: SparkSession, n: Int): Seq[String] = entries(session).reverse.take(n).map(worded)

  private def worded(e: Entry): String = ReportJson.write(ReportText.into(ReportJson.read(e.report.text)))

  /** The report of the last query that ran this very plan, alone or below operators of an action; null if none did. */
  def of(qe: QueryExecution): String = {
    val hash = qe.analyzed.semanticHash()
    entries(qe.sparkSession).reverse.find(_.plans(hash)).fold(null: String)(worded)
  }

  /** The last run of this very query; None if it has not run. */
  private[report] def execution(qe: QueryExecution): Option[ExecutionEntry] = {
    awaitEvents(qe.sparkSession)
    executions.of(qe)
  }

  private def awaitEvents(session: SparkSession): Unit =
    try session.sparkContext.listenerBus.waitUntilEmpty(10000)
    catch {
      case _: TimeoutException => logWarning("the listeners are late; the last reports may be missing")
    }

  private def entries(session: SparkSession): Seq[Entry] = {
    awaitEvents(session)
    Option(rings.get(session)).toSeq.flatMap(ring => ring.synchronized(ring.asScala.toList))
  }
}

/** Maps that several threads use, and that keep what was put into them last. Who iterates over one holds its lock. */
private[report] object LatestEntries {

  /** @param most entries that are kept; the oldest ones go */
  def apply[K, V](most: Int): JMap[K, V] = Collections.synchronizedMap(new LinkedHashMap[K, V] {
    override def removeEldestEntry(eldest: JMap.Entry[K, V]): Boolean = size > most
  })
}

/** A text that is kept compressed: a server has hundreds of sessions, each with its last reports. */
final private[report] class PackedText(packed: Array[Byte]) {
  def text: String = new String(PackedText.through(new InflaterOutputStream(_), packed), UTF_8)
}

private[report] object PackedText {
  def apply(text: String): PackedText =
    new PackedText(through(new DeflaterOutputStream(_), text.getBytes(UTF_8)))

  private def through(coder: OutputStream => OutputStream, bytes: Array[Byte]): Array[Byte] = {
    val out = new ByteArrayOutputStream
    val coded = coder(out)
    coded.write(bytes)
    coded.close()
    out.toByteArray
  }
}

/**
 * Who runs the statements of a Thrift server. The application has one user and each of the server's sessions another.
 *
 * Spark tells it in an event of its Thrift server's module, which an application may lack and the jar does not depend on. A
 * statement is the job group of its queries.
 */
final private[report] class ThriftUsers {
  import ThriftUsers._

  private val users = LatestEntries[String, String](most)

  def event(e: SparkListenerEvent): Unit =
    if (e.getClass.getName == statementStarted)
      for (group <- text(e, "groupId"); user <- text(e, "userName")) users.put(group, user): Unit

  /** The user of the statement with this job group. */
  def of(jobGroup: String): Option[String] = Option(users.get(jobGroup))

  private def text(e: SparkListenerEvent, field: String): Option[String] =
    Try(e.getClass.getMethod(field).invoke(e)).toOption.collect { case s: String if s.nonEmpty => s }
}

private object ThriftUsers {
  private val statementStarted =
    "org.apache.spark.sql.hive.thriftserver.ui.SparkListenerThriftServerOperationStart"

  /** The statements that are remembered. More than a server runs at a time. */
  private val most = 1000
}

package org.apache.spark.sql.springbok.report

import java.util.{Map => JMap}

import scala.collection.immutable.ListMap
import scala.jdk.CollectionConverters._
import scala.util.matching.Regex

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode, TextNode}
import org.apache.spark.SPARK_VERSION
import org.apache.spark.internal.config.ConfigEntry
import org.apache.spark.sql.Row
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.execution.{CommandExecutionMode, QueryExecution}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.RunningSpark
import org.apache.spark.sql.springbok.conf.{FilterConf, Settings, SpringbokConf}
import org.apache.spark.sql.springbok.report.model._
import org.apache.spark.util.Utils

/**
 * The strategy report of a query as one JSON document (`docs/report.schema.json`); Python's `springbok.report` parses it.
 * Modelled on Impala's `TQueryExecRequest`.
 *
 * It never runs the query. Decisions come from the log that the query's plan carries. Observed numbers come from the
 * metrics of the plan, if this very execution has run.
 */
object SpringbokReport {

  /** Of a DataFrame's own `queryExecution`. */
  def json(qe: QueryExecution): String =
    qe.sparkSession.withActive(ReportJson.write(ReportText.into(of(qe, LastReports.execution(qe)))))

  /**
   * @param execution
   *   the run that is observed, asked for if there is one
   */
  def of(qe: QueryExecution, execution: => Option[ExecutionEntry] = None): QueryReport = {
    val conf = qe.sparkSession.sessionState.conf
    val parts = ReportParts.of(qe)
    val report = QueryReport(
      version = QueryReport.formatVersion,
      springbok = RunningSpark.VERSION,
      spark = SPARK_VERSION,
      state = if (parts.ran) "executed" else "planned",
      query = QueryIdentity.of(qe, parts.state.flatMap(_.database)),
      note = note(conf, parts, qe),
      resources = parts.resources,
      output = parts.output.entries,
      predicateSources = parts.output.predicates,
      sink = parts.sink,
      tables = parts.tables,
      fragments = parts.fragments,
      joins = parts.joins,
      filters = parts.filters,
      joinOrder = parts.joinOrder,
      eagerAggregation = parts.eagerAggregation,
      conjuncts = parts.conjuncts,
      failures = parts.failures,
      settings = settings(conf),
      effective = ListMap.from(decisive.map(e => e.key -> conf.getConfString(e.key, e.defaultValueString))),
      strategies = parts.strategies,
      saved = parts.saved,
      execution = if (parts.ran) execution else None
    )
    Redaction.of(qe.sparkSession)(report)
  }

  /** Why Springbok had nothing to decide, or decided less than it could. */
  private def note(conf: SQLConf, parts: ReportParts, qe: QueryExecution): Option[String] =
    if (!conf.getConf(SpringbokConf.ENABLED))
      Some(s"${SpringbokConf.ENABLED.key} is false: Spark planned alone.")
    else if (conf.getConf(SpringbokConf.SHADOW))
      Some(
        s"${SpringbokConf.SHADOW.key} is true: Spark planned alone. The last reports show what Springbok would plan."
      )
    else if (parts.state.isEmpty) Some("No join was planned by Springbok.")
    else if (parts.leftToSpark.isDefined) parts.leftToSpark.map(_.text.capitalize + ".")
    else if (parts.sink.exists(_.pruning.isDefined)) None
    else if (ReportParts.adaptive(qe.executedPlan).isEmpty)
      Some("No runtime filters: adaptive execution does not run the plan.")
    else None

  /** The settings that decided and differ from their defaults, of Springbok and of Spark. */
  private def settings(conf: SQLConf): Map[String, String] = ListMap.from(
    (Settings.entries ++ sparks)
      .filter(e => conf.contains(e.key) && conf.getConfString(e.key) != e.defaultValueString)
      .map(e => e.key -> conf.getConfString(e.key))
  )

  /** The settings that say whether tables are joined as they are stored, and what filters may be. */
  private val decisive: Seq[ConfigEntry[?]] = Seq(
    SQLConf.BUCKETING_ENABLED,
    SQLConf.REQUIRE_ALL_CLUSTER_KEYS_FOR_CO_PARTITION,
    SQLConf.V2_BUCKETING_ENABLED,
    SQLConf.V2_BUCKETING_PUSH_PART_VALUES_ENABLED,
    SQLConf.PARQUET_FILTER_PUSHDOWN_INFILTERTHRESHOLD,
    FilterConf.MODE,
    FilterConf.TYPES,
    FilterConf.WAIT,
    FilterConf.IN_LIMIT
  )

  /** Spark's settings that change how it plans joins, or which filters a scan takes. */
  private val sparks: Seq[ConfigEntry[?]] = Seq(
    SQLConf.AUTO_BROADCASTJOIN_THRESHOLD,
    SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD,
    SQLConf.ADAPTIVE_EXECUTION_ENABLED,
    SQLConf.ADAPTIVE_MAX_SHUFFLE_HASH_JOIN_LOCAL_MAP_THRESHOLD,
    SQLConf.PREFER_SORTMERGEJOIN,
    SQLConf.SHUFFLE_PARTITIONS,
    SQLConf.BUCKETING_ENABLED,
    SQLConf.V2_BUCKETING_ENABLED,
    SQLConf.CBO_ENABLED,
    SQLConf.DYNAMIC_PARTITION_PRUNING_ENABLED,
    SQLConf.RUNTIME_BLOOM_FILTER_ENABLED,
    SQLConf.PARQUET_FILTER_PUSHDOWN_ENABLED,
    SQLConf.ORC_FILTER_PUSHDOWN_ENABLED
  )
}

/**
 * Takes out of a report what `spark.sql.redaction.string.regex` matches: in all texts but those that are Springbok's own
 * words. The texts of query and execution are redacted where they are made as well, because Spark cuts them.
 */
final private[report] class Redaction(pattern: Option[Regex]) {
  def apply(r: QueryReport): QueryReport =
    if (pattern.isEmpty) r else ReportJson.changed(r)(redacted(_, Redaction.own))

  private def redacted(node: JsonNode, kept: Set[String]): JsonNode = {
    node match {
      case o: ObjectNode =>
        for (name <- o.fieldNames.asScala.toSeq if !kept(name))
          // The names of a reason's arguments are others.
          o.replace(name, redacted(o.get(name), if (name == "args") Set.empty else kept)): Unit
      case a: ArrayNode => for (i <- 0 until a.size) a.set(i, redacted(a.get(i), kept)): Unit
      case _ =>
    }
    if (node.isTextual) new TextNode(Utils.redact(pattern, node.textValue)) else node
  }
}

private[report] object Redaction {

  /** Fields of no text from the query, its tables or its user: words, codes, ids, versions and names of settings. */
  private val own =
    Set("id", "code", "setting", "status", "state", "kind", "kinds", "phase", "strategy", "planned") ++
      Set("spark_strategy", "build", "distribution", "rows_source", "pushed", "timing", "scope") ++
      Set(
        "runtime_filters",
        "filter",
        "springbok",
        "spark",
        "statement",
        "action",
        "rule",
        "error",
        "mode",
        "format"
      )

  def of(session: SparkSession): Redaction = new Redaction(session.sessionState.conf.stringRedactionPattern)
}

/**
 * The report of a query as it would be planned under other settings, `spark.springbok.cluster.*` first of all. It plans a
 * copy of the query in a clone of the session: neither the query nor its session changes, and nothing runs.
 */
object WhatIf {

  /** Of a DataFrame's own `queryExecution`, with settings by their full keys. */
  def json(qe: QueryExecution, settings: JMap[String, String]): String =
    SpringbokReport.json(planned(qe, settings.asScala.toMap))

  /** The same query, to be run with Springbok switched on or off. */
  def dataset(qe: QueryExecution, enabled: Boolean): Dataset[Row] =
    Dataset.ofRows(
      clone(
        qe,
        Map(SpringbokConf.ENABLED.key -> enabled.toString, SpringbokConf.SHADOW.key -> "false")
      ),
      qe.commandExecuted
    )

  private def clone(qe: QueryExecution, settings: Map[String, String]): SparkSession = {
    val session = qe.sparkSession.cloneSession()
    settings.foreach { case (k, v) => session.conf.set(k, v) }
    session
  }

  def planned(qe: QueryExecution, settings: Map[String, String]): QueryExecution = {
    val session = clone(qe, settings)
    session.withActive {
      val other = session.sessionState.executePlan(qe.commandExecuted, CommandExecutionMode.SKIP)
      other.executedPlan
      other
    }
  }
}

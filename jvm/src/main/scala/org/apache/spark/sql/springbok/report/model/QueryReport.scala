package org.apache.spark.sql.springbok.report.model

import scala.annotation.StaticAnnotation
import scala.collection.immutable.ListMap

import org.apache.spark.sql.springbok.reason.Reason

/**
 * The whole document; `predicateSources` are the columns of base tables that decide which rows `output` has. Its classes are its only definition: JSON names are these names in snake case, None is left out.
 */
@describe(
  "Rows and bytes are those of a whole operator over all tasks; bytes in memory unless it says otherwise. settings are those that differ from their defaults, and effective the values of some that decide what joins and filters may do, whether they are set or not."
)
final case class QueryReport(
    @exactly(QueryReport.formatVersion) version: Int,
    springbok: String,
    spark: String,
    @oneOf("planned", "executed", "shadow") state: String,
    query: QueryEntry,
    note: Option[String],
    resources: Resources,
    output: Seq[OutputEntry],
    predicateSources: Seq[String],
    sink: Option[SinkEntry],
    tables: Seq[TableEntry],
    fragments: Seq[FragmentEntry],
    joins: Seq[JoinEntry],
    filters: Seq[FilterEntry],
    joinOrder: Seq[JoinOrderEntry],
    eagerAggregation: Seq[EagerAggregationEntry],
    conjuncts: Seq[ConjunctsEntry],
    failures: Seq[FailureEntry],
    settings: Map[String, String],
    effective: Map[String, String],
    @keysOf("broadcast hash", "shuffled hash", "sort-merge", "broadcast nested loop", "cartesian")
    strategies: Map[String, Long],
    saved: Option[SavedEntry],
    execution: Option[ExecutionEntry],
    texts: Option[TextsEntry] = None
)

object QueryReport {
  final val formatVersion = 3
}

@describe(
  "What the plan was made for, and the memory that its joins ask of one executor. hosts run the executors; execution_memory_bytes is what Spark's memory manager shares among the tasks of an executor and its cached blocks."
)
final case class Resources(
    executors: Int,
    coresPerExecutor: Int,
    executorHeapBytes: Long,
    driverHeapBytes: Long,
    shufflePartitions: Int,
    joinMemoryPerExecutorBytes: Option[Double],
    hosts: Option[Long],
    tasksPerExecutor: Int,
    executionMemoryBytes: Long
)

@describe(
  "What tells one query from another. sql is the text that it was parsed from, if there is one, and statement the kind of statement. The fingerprint is the same for all runs of a query, whatever its literals are. Spark's redaction applies."
)
final case class QueryEntry(
    sql: Option[String],
    statement: String,
    user: String,
    database: Option[String],
    application: String,
    fingerprint: Option[String]
)

@describe(
  "The run that was observed: its number in Spark's SQL tab, its action, its start in ms since 1970, and where it was called if it has no job description. Spark's redaction applies."
)
final case class ExecutionEntry(
    id: Long,
    action: String,
    startMs: Long,
    durationMs: Long,
    callSite: Option[String],
    jobDescription: Option[String],
    jobGroup: Option[String]
)

@describe(
  "The report in words: the query in one line, a summary on one screen, and the whole report. Lines have at most 100 characters."
)
final case class TextsEntry(query: String, summary: String, whole: String)

@describe(
  "What the runtime filters of a finished query saved, by estimate: rows in row groups that scans skipped, rows that were tested and removed, bytes in memory that no shuffle had to move, and ms of one core by the cost model."
)
final case class SavedEntry(
    rowsNotRead: Long,
    rowsRemoved: Long,
    bytesNotShuffled: Long,
    coreMs: Double
)

/** A rule that failed, by the class of its exception. */
final case class FailureEntry(rule: String, error: String)

@describe("A code of docs/reasons.md with its numbers.")
final case class ReasonEntry(
    @matching("^[A-Z][A-Z_]+$") code: String,
    text: String,
    setting: Option[String],
    args: Map[String, Any]
)

object ReasonEntry {
  def apply(r: Reason): ReasonEntry =
    ReasonEntry(
      r.code,
      r.text,
      r.setting,
      ListMap.from(r.args.collect(Function.unlift { case (k, v) => value(v).map(k -> _) }))
    )

  /** A value as JSON can write it: null for a number that is none. */
  private def value(v: Any): Option[Any] = v match {
    case d: Double => Some(if (d.isNaN || d.isInfinite) null else d)
    case _: String | _: Long | _: Int => Some(v)
    case s: Seq[?] => Some(s.map(_.toString))
    case _ => None
  }
}

/*
 * What the types of the report's classes do not say: `docs/report.schema.json` is generated from both.
 */

/** The description of a class. */
final private[model] class describe(val text: String) extends StaticAnnotation

/** The values that a text may have. */
final private[model] class oneOf(val values: String*) extends StaticAnnotation

/** The keys that a map may have. */
final private[model] class keysOf(val values: String*) extends StaticAnnotation

/** The form of a text, a regular expression. */
final private[model] class matching(val pattern: String) extends StaticAnnotation

/** The value of a number. */
final private[model] class exactly(val value: Int) extends StaticAnnotation

/** The smallest value of a number, instead of 0. */
final private[model] class atLeast(val value: Int) extends StaticAnnotation

/** The largest value of a number. */
final private[model] class atMost(val value: Int) extends StaticAnnotation

@describe(
  "A column that the query gives, or that it writes, with the columns of base tables that its values are computed from."
)
final case class OutputEntry(column: String, `type`: String, sources: Seq[String])

@describe(
  "Where a statement writes: a table, or files at a path. pruning says whether the keys of a MERGE's source were added to its condition."
)
final case class SinkEntry(
    @oneOf(
      "append",
      "overwrite",
      "overwrite part",
      "create",
      "create if absent",
      "replace",
      "create or replace",
      "merge",
      "update",
      "delete"
    ) mode: String,
    table: Option[String] = None,
    path: Option[String] = None,
    format: Option[String] = None,
    partitionColumns: Seq[String] = Nil,
    pruning: Option[ReasonEntry] = None
)

@describe("The conjuncts of a filter or join in their order; costs in ns a row.")
final case class ConjunctsEntry(
    operator: String,
    changed: Boolean,
    costBefore: Double,
    costAfter: Double,
    order: Seq[ConjunctEntry]
)

final case class ConjunctEntry(
    condition: String,
    cost: Double,
    @atMost(1) selectivity: Option[Double],
    mayRaise: Boolean
)

@describe(
  "An order of joins that was considered; best is the cheapest one found where the query's own stays; ms of one core."
)
final case class JoinOrderEntry(
    relations: Int,
    before: String,
    after: Option[String],
    best: Option[String],
    costBeforeMs: Option[Double],
    costAfterMs: Option[Double],
    reason: ReasonEntry
)

@describe(
  "An aggregate above joins, by its keys; below names the relations whose rows each task aggregates before they are joined with the others, retained the rows that are expected to be left."
)
final case class EagerAggregationEntry(
    groups: String,
    below: Option[String],
    rows: Option[Double],
    retained: Option[Double],
    reason: ReasonEntry
)

@describe("Operators that run together: a query stage.")
final case class FragmentEntry(
    id: Long,
    @oneOf("shuffle", "broadcast", "subquery", "result") kind: String,
    inputs: Seq[Long],
    partitioning: PartitioningEntry,
    nodes: Seq[NodeEntry],
    exchange: Option[ExchangeEntry]
)

/** How rows are spread. */
final case class PartitioningEntry(
    @oneOf("unpartitioned", "random", "hash", "range", "bucketed", "broadcast") kind: String,
    keys: Option[Seq[String]] = None,
    partitions: Option[Long] = None
)

/** An operator. */
final case class NodeEntry(
    id: Int,
    parent: Option[Long],
    operator: String,
    label: String,
    join: Option[Long],
    filter: Option[String],
    estimatedRows: Option[Double],
    rows: Option[Long],
    aggregate: Option[AggregateEntry] = None
)

@describe(
  "What an operator aggregates: the keys of its groups, and its functions, each with the phase that it computes. A partial function takes rows and gives buffers, merge takes and gives buffers, final takes buffers, and complete takes rows and gives results. phase is that of all functions, or mixed."
)
final case class AggregateEntry(
    @oneOf("partial", "merge", "final", "complete", "mixed") phase: String,
    keys: Seq[String],
    functions: Seq[AggregateFunctionEntry]
)

final case class AggregateFunctionEntry(
    function: String,
    @oneOf("partial", "merge", "final", "complete") phase: String
)

/** Rows on their way to the fragments `to`; `writtenBytes` are compressed. */
final case class ExchangeEntry(
    partitioning: PartitioningEntry,
    to: Seq[Long],
    estimatedRows: Option[Double],
    estimatedBytes: Option[Double],
    rows: Option[Long],
    bytes: Option[Long],
    writtenBytes: Option[Long],
    @atLeast(1) qError: Option[Double]
)

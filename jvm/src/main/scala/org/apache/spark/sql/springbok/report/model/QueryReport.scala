package org.apache.spark.sql.springbok.report.model

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
    @oneOf("planned", "executed") state: String,
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
    conjuncts: Seq[ConjunctsEntry],
    failures: Seq[FailureEntry],
    settings: Map[String, String],
    effective: Map[String, String],
    @keysOf("broadcast hash", "shuffled hash", "sort-merge", "broadcast nested loop", "cartesian")
    strategies: Map[String, Long],
    saved: Option[SavedEntry],
    execution: Option[ExecutionEntry]
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
  "What tells one query from another. sql is the text that it was parsed from, if there is one, and statement the kind of statement. Spark's redaction applies."
)
final case class QueryEntry(
    sql: Option[String],
    statement: String,
    user: String,
    database: Option[String],
    application: String
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

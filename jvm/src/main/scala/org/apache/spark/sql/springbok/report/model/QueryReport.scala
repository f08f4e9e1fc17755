package org.apache.spark.sql.springbok.report.model

/** The whole document. Its classes are its only definition: JSON names are these names in snake case, None is left out. */
@describe(
  "Rows and bytes are those of a whole operator over all tasks; bytes in memory unless it says otherwise."
)
final case class QueryReport(
    @exactly(QueryReport.formatVersion) version: Int,
    springbok: String,
    spark: String,
    @oneOf("planned", "executed") state: String,
    note: Option[String],
    resources: Resources,
    tables: Seq[TableEntry],
    fragments: Seq[FragmentEntry],
    joins: Seq[JoinEntry],
    filters: Seq[FilterEntry],
    joinOrder: Seq[JoinOrderEntry],
    conjuncts: Seq[ConjunctsEntry],
    failures: Seq[FailureEntry],
    settings: Map[String, String],
    @keysOf("broadcast hash", "shuffled hash", "sort-merge", "broadcast nested loop", "cartesian")
    strategies: Map[String, Int],
    execution: Option[ExecutionEntry]
)

object QueryReport {
  final val formatVersion = 3
}

/** What the plan was made for, and the memory that its joins ask of one executor. */
final case class Resources(
    executors: Int,
    coresPerExecutor: Int,
    executorHeapBytes: Long,
    driverHeapBytes: Long,
    shufflePartitions: Int,
    joinMemoryPerExecutorBytes: Option[Double]
)

@describe("The run that was observed, if it was not the DataFrame's own.")
final case class ExecutionEntry(id: Long, action: String, durationMs: Long)

/** A rule that failed, by the class of its exception. */
final case class FailureEntry(rule: String, error: String)

package org.apache.spark.sql.springbok.report.model

@describe(
  "A table, once for each time that the query reads it; what ends in _read was observed, and so were the tasks that read it. Conditions on partition columns are partition_filters, those that the reader is told of pushed_filters, and runtime_filters the ids of those that are applied to the scan. missing_statistics are the join columns without a known number of distinct values, and analyze is the statement that would collect what is missing."
)
final case class TableEntry(
    name: Option[String],
    format: String,
    rows: Option[Double],
    @oneOf("runtime", "analyzed", "footer", "connector", "estimated", "unknown") rowsSource: String,
    missingStatistics: Seq[String],
    analyze: Option[String],
    slots: Seq[SlotEntry],
    bytes: BigInt,
    partitionFilters: Seq[String] = Nil,
    pushedFilters: Seq[String] = Nil,
    runtimeFilters: Seq[String] = Nil,
    files: Option[Long] = None,
    footersRead: Option[Long] = None,
    partitions: Option[Long] = None,
    partitionsRead: Option[Long] = None,
    filesRead: Option[Long] = None,
    bytesRead: Option[Long] = None,
    rowsRead: Option[Long] = None,
    tasks: Option[Long] = None
)

/** A column that is read, with the distinct values of its table as far as they are known. */
final case class SlotEntry(column: String, `type`: String, distinct: Option[Double])

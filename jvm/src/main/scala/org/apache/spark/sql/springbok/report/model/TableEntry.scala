package org.apache.spark.sql.springbok.report.model

@describe(
  "A table, once for each time that the query reads it; what ends in _read was observed. missing_statistics are the join columns without a known number of distinct values, and analyze is the statement that would collect what is missing."
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
    files: Option[Long] = None,
    footersRead: Option[Long] = None,
    partitions: Option[Long] = None,
    partitionsRead: Option[Long] = None,
    filesRead: Option[Long] = None,
    bytesRead: Option[Long] = None,
    rowsRead: Option[Long] = None
)

/** A column that is read, with the distinct values of its table as far as they are known. */
final case class SlotEntry(column: String, `type`: String, distinct: Option[Double])

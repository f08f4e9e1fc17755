package org.apache.spark.sql.springbok.report.model

@describe(
  "A table, once for each time that the query reads it; what ends in _read was observed, and so were the tasks that read it. qualified_name is its name in a catalog as SQL takes it. Conditions on partition columns are partition_filters, those that the reader is told of pushed_filters (of a connector: those that it evaluates alone), and runtime_filters the ids of those that are applied to the scan. scan is what a connector says of its scan. missing_statistics are the join columns without a known number of distinct values, and analyze is the statement that would collect what is missing. stored_by are the transforms by which a connector stores its rows together, and stored_partitions is the number of partitions that its scan reports by them."
)
final case class TableEntry(
    id: Int,
    name: Option[String],
    qualifiedName: Option[String],
    @oneOf("files", "connector", "hive", "cached", "other") source: String,
    format: String,
    rows: Option[Double],
    @oneOf("runtime", "analyzed", "log", "footer", "connector", "estimated", "unknown")
    rowsSource: String,
    missingStatistics: Seq[String],
    analyze: Option[String],
    slots: Seq[SlotEntry],
    bytes: BigInt,
    bucketing: Option[BucketingEntry] = None,
    storedBy: Seq[TransformEntry] = Nil,
    storedPartitions: Option[Long] = None,
    partitionFilters: Seq[String] = Nil,
    pushedFilters: Seq[String] = Nil,
    runtimeFilters: Seq[String] = Nil,
    scan: Option[String] = None,
    files: Option[Long] = None,
    footersRead: Option[Long] = None,
    partitions: Option[Long] = None,
    partitionsRead: Option[Long] = None,
    filesRead: Option[Long] = None,
    bytesRead: Option[Long] = None,
    rowsRead: Option[Long] = None,
    tasks: Option[Long] = None
)

/** The buckets of a table of files. Rows with equal values in these columns are in one bucket. */
final case class BucketingEntry(columns: Seq[String], buckets: Int, sortedBy: Seq[String])

@describe(
  "A transform of columns such as bucket(8, id): its name, the columns, its other arguments, and all of it as text."
)
final case class TransformEntry(name: String, columns: Seq[String], arguments: Seq[String], text: String)

/** A column that is read, with the distinct values of its table as far as they are known. */
final case class SlotEntry(column: String, `type`: String, distinct: Option[Double])

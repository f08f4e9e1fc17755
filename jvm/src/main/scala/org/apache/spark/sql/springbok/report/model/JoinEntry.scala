package org.apache.spark.sql.springbok.report.model

/**
 * A join: what was decided (`planned`), what Spark alone would plan by the sizes that it knows (`sparkStrategy`), what the
 * plan has (`strategy`, `build`, `distribution`, and all below), and why.
 */
final case class JoinEntry(
    id: Int,
    `type`: String,
    leftKeys: Seq[String],
    rightKeys: Seq[String],
    otherConjuncts: Option[String],
    hint: Option[String] = None,
    hintHonoured: Option[Boolean] = None,
    planned: Option[String] = None,
    sparkStrategy: Option[String] = None,
    plannedBySpark: Boolean,
    revised: Boolean = false,
    before: Option[String] = None,
    reason: Option[ReasonEntry] = None,
    notes: Seq[ReasonEntry] = Nil,
    alternatives: Seq[AlternativeEntry] = Nil,
    memoryBytes: Option[Double] = None,
    left: SideEntry,
    right: SideEntry,
    node: Option[Long] = None,
    fragment: Option[Long] = None,
    @oneOf("broadcast hash", "shuffled hash", "sort-merge", "broadcast nested loop", "cartesian")
    strategy: Option[String] = None,
    @oneOf("left", "right") build: Option[String] = None,
    @oneOf("colocate", "bucket shuffle", "broadcast", "partitioned") distribution: Option[String] = None,
    estimatedRows: Option[Double] = None,
    estimatedBytes: Option[Double] = None,
    outputRows: Option[Long] = None,
    @atLeast(1) qError: Option[Double] = None,
    condition: Option[String] = None
)

@describe(
  "One input of a join: the tables that it reads, by their ids, and where its keys come from; what the decision was made from, what was estimated at first, and what was observed."
)
final case class SideEntry(
    tables: Seq[Long],
    keys: Seq[KeyColumnEntry],
    rows: Option[Double],
    @oneOf("runtime", "analyzed", "log", "footer", "connector", "sample", "estimated", "unknown")
    rowsSource: String,
    rowBytes: Option[Double],
    boundBytes: Option[Double],
    partitioned: Boolean,
    exchanged: Option[Boolean],
    estimatedRows: Option[Double],
    estimatedBytes: Option[Double],
    observedRows: Option[Long],
    observedBytes: Option[Long],
    @atLeast(1) qError: Option[Double]
)

object SideEntry {

  /** A side that nothing is known of. */
  val unknown: SideEntry =
    SideEntry(Nil, Nil, None, "unknown", None, None, false, None, None, None, None, None, None)
}

@describe(
  "Where a key of a join comes from: the table, by its id, if it is computed from one only, and the column if it is one."
)
final case class KeyColumnEntry(table: Option[Long], column: Option[String])

@describe(
  "A strategy with its cost, the sum of its terms, or why it is ruled out. impala_cost_bytes is Impala's own cost of a broadcast or partitioned hash join."
)
final case class AlternativeEntry(
    strategy: String,
    costBytes: Option[Double],
    impalaCostBytes: Option[Double],
    terms: Map[String, Double],
    ruledOut: Option[ReasonEntry],
    text: Option[String] = None
)

@describe(
  "A runtime filter, or one that was declined; without an id if it was never placed. target_id is the id of the target table. timing says when the scan starts: it waits for the build side, it is local to a broadcast join and starts after the build side anyway, or it starts at once and the filter is late. A late filter arrived so many ms after the scan began, and only some of the scan's tasks tested their rows by it. expected_benefit_ms and expected_idle_ms are times of all cores: what the filters of this key save, and what is lost by waiting. Its scope is local if all scans that it is applied to run in the fragment of its join, and global if it is sent to others."
)
final case class FilterEntry(
    @matching("^RF[0-9]{3,}$") id: Option[String],
    join: Int,
    source: String,
    targetTable: Option[String],
    targetColumn: Option[String],
    targetId: Option[Long],
    fromFragment: Option[Long],
    toFragments: Seq[Long],
    @oneOf("placed", "used", "unused", "declined") status: String,
    reason: ReasonEntry,
    kinds: Seq[String],
    @oneOf("files", "partitions", "connector", "rebuilt", "query") pushed: Option[String],
    notPushed: Option[ReasonEntry],
    @atMost(1) expectedRetained: Option[Double],
    @oneOf("waits", "local", "late") timing: Option[String],
    expectedBenefitMs: Option[Double],
    expectedIdleMs: Option[Double],
    buildRows: Option[Long],
    buildKeys: Option[Long],
    bytes: Option[Long],
    @atMost(1) falsePositiveRate: Option[Double],
    waitedMs: Option[Long],
    rowsIn: Option[Long],
    rowsRemoved: Option[Long],
    rowGroups: Option[Long],
    rowGroupsRemoved: Option[Long],
    files: Option[Long],
    filesRead: Option[Long],
    scanRows: Option[Long],
    pauses: Option[Long],
    switchedOff: Option[Boolean],
    @oneOf("local", "global") scope: Option[String] = None,
    arrivedMs: Option[Long] = None,
    tasksTested: Option[Long] = None,
    tasksUntested: Option[Long] = None,
    name: Option[String] = None,
    effect: Option[String] = None
)

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
    @oneOf("runtime", "analyzed", "log", "footer", "connector", "sample", "estimated", "unknown")
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

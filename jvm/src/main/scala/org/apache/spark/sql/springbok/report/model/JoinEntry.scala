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
    @atLeast(1) qError: Option[Double] = None
)

@describe(
  "One input of a join: the tables that it reads, by their ids, and where its keys come from; what the decision was made from, what was estimated at first, and what was observed."
)
final case class SideEntry(
    tables: Seq[Long],
    keys: Seq[KeyColumnEntry],
    rows: Option[Double],
    @oneOf("runtime", "analyzed", "log", "footer", "connector", "estimated", "unknown")
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
  "A strategy with its cost, the sum of its terms, or why it is ruled out. impala_cost_bytes is Impala's own cost of a broadcast."
)
final case class AlternativeEntry(
    strategy: String,
    costBytes: Option[Double],
    impalaCostBytes: Option[Double],
    terms: Map[String, Double],
    ruledOut: Option[ReasonEntry]
)

package org.apache.spark.sql.springbok.report.model

/** A runtime filter, or one that was declined; without an id if it was never placed. */
final case class FilterEntry(
    @matching("^RF[0-9]{3,}$") id: Option[String],
    join: Int,
    source: String,
    targetTable: Option[String],
    targetColumn: Option[String],
    fromFragment: Option[Long],
    toFragments: Seq[Long],
    @oneOf("placed", "used", "unused", "declined") status: String,
    reason: ReasonEntry,
    kinds: Seq[String],
    @oneOf("files", "partitions", "connector", "rebuilt", "query") pushed: Option[String],
    notPushed: Option[ReasonEntry],
    @atMost(1) expectedRetained: Option[Double],
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
    switchedOff: Option[Boolean]
)

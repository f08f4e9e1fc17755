package org.apache.spark.sql.springbok.report.model

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
    tasksUntested: Option[Long] = None
)

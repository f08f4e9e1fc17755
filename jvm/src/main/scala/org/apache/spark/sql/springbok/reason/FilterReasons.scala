package org.apache.spark.sql.springbok.reason

import org.apache.spark.sql.springbok.conf.{FilterConf, HistoryConf}

/** The outcome of a runtime filter: why it was not made, not used, or used only in part. */
private[springbok] trait FilterReasons { this: ReasonRegistry =>
  private val made = new Topic("Runtime filters: made")

  val placed: Reason = made.fixed(
    "PLACED",
    "placed; decided when the build side has finished",
    "The query has not run yet, or has not reached this point."
  )
  val late: Reason = made.fixed(
    "LATE",
    "placed; its scan starts without it, and tasks that begin after the filter has arrived test their rows",
    "Waiting for the build side would take longer than the filter saves. A filter that is not used arrived after its scan had ended.",
    by(FilterConf.WAIT)
  )
  val keysKnown: Reason = made.fixed(
    "KEYS_KNOWN",
    "placed; its scan starts at once, because an earlier query has collected the build side's keys",
    "The build side reads the same files under the same conditions as in that query.",
    by(HistoryConf.KEYS)
  )

  val used: Seq[String] => Reason = made.of1("USED", "applied as {kinds}", "The filter was used.")

  private val declined = new Topic("Runtime filters: not made")

  val filterJoinType: String => Reason = declined.of1(
    "JOIN_TYPE_UNSUPPORTED",
    "a {type} join must keep the rows that a filter would remove",
    "Only a side whose rows without a match are dropped can be filtered."
  )
  val keyType: String => Reason = declined.of1(
    "KEY_TYPE_UNSUPPORTED",
    "keys of type {type} get no filter",
    "Supported: numbers, dates, timestamps, intervals, strings, binary, and structs and arrays of these. Not supported: BOOLEAN and TIME."
  )
  val keyExpression: String => Reason = declined.of1(
    "KEY_EXPRESSION",
    "the key {key} is not computed at a scan: it might raise an error there, is not deterministic, or is too large",
    "A column, or a lossless cast of one, can always be computed there. Arithmetic and casts that might raise an error (ANSI mode) are computed only where files are read and no rows are grouped below the join, unless the key is a column plus or minus a constant. User-defined functions never are."
  )
  val noSource: Reason = declined.fixed(
    "NO_EXCHANGE",
    "the keys of neither side come from an exchange, so no side finishes first",
    "Both sides are computed in one stage, so the filter could not be ready before the rows."
  )
  val indeterminate: Reason = declined.fixed(
    "BUILD_SIDE_INDETERMINATE",
    "the build side may return other rows if it is computed again",
    "The build side has a limit without an order, a sample, random values or user code."
  )
  val noTarget: Reason = declined.fixed(
    "NO_TARGET",
    "no scan holds the probe side's key below operators that a filter may pass",
    "The key is an aggregate's or a window's result, or comes from below a limit or an outer join's null-generating side."
  )
  val notSelective: Double => Reason = declined.of1(
    "NOT_SELECTIVE",
    "about {retained:percent} of the probe side's rows would stay",
    "Most rows find a match, so testing them would not pay.",
    by(FilterConf.MIN_REJECTION)
  )
  val noShuffleSaved: (Double, Double) => Reason = declined.of2(
    "NO_SHUFFLE_SAVED",
    "a removed row would save {saved_ns_per_row} ns between scan and join, and testing a row takes {paid_ns_per_row} ns",
    "No shuffle, sort or aggregate stands between scan and join, so the join itself removes the rows as cheaply."
  )
  val smallBenefit: (Double, Double) => Reason = declined.of2(
    "SMALL_BENEFIT",
    "it would save about {benefit_ms} ms; the least is {least_ms} ms",
    "The tables are small.",
    by(FilterConf.MIN_BENEFIT_MS)
  )
  val otherFiltersSuffice: (Double, Double) => Reason = declined.of2(
    "OTHER_FILTERS_SUFFICE",
    "beside better filters of the same scans it would save about {benefit_ms} ms; the least is {least_ms} ms",
    "The other filters remove most of the rows that this one would remove.",
    by(FilterConf.MIN_BENEFIT_MS)
  )
  val noWaiting: Reason = declined.fixed(
    "NO_WAITING",
    "the scan would have to wait for the build side's stage",
    "If the scan does not wait, only filters that are tested row by row can be used later.",
    by(FilterConf.WAIT)
  )
  val reusedExchange: Reason = declined.fixed(
    "EXCHANGE_REUSED",
    "the scan is below an exchange that is read more than once and would have to run more than once",
    "Spark computes this part of the query once for several readers. A filter for one of them would split it."
  )
  val pruningSide: Reason = declined.fixed(
    "FEEDS_PARTITION_PRUNING",
    "the scan's side prunes partitions elsewhere and must stay as it is",
    "Spark's dynamic partition pruning reads this side."
  )
  val sparkFilters: Reason = declined.fixed(
    "SPARK_FILTERS",
    "Spark's own dynamic partition pruning or bloom filter removes the same rows at the scan",
    "A second filter on the same key would remove nothing.",
    Some("spark.sql.optimizer.dynamicPartitionPruning.enabled")
  )
  val columnarRule: String => Reason = declined.of1(
    "COLUMNAR_RULE",
    "another extension replaces operators of this query: {name}",
    "Native engines do not know the operators of a runtime filter and turn columns into rows for them. A hint places filters anyway."
  )
  val filterHint: Reason = declined.fixed(
    "FILTER_HINT",
    "the query's hint NO_RUNTIME_FILTER_TARGET forbids it",
    "`/*+ NO_RUNTIME_FILTER_TARGET(t) */` keeps all filters away from a relation, `/*+ RUNTIME_FILTER_TARGET(t) */` asks for them whatever they cost."
  )
  val tooManyFilters: Reason = declined.fixed(
    "TOO_MANY_FILTERS",
    "the query already has the largest number of filters that is allowed, and they save more",
    s"Counted by target scan, and by the bytes of their bloom filters (`${FilterConf.MAX_TOTAL_BYTES.key}`).",
    by(FilterConf.MAX_NUMBER)
  )
  val planTooLarge: Reason = declined.fixed(
    "PLAN_TOO_LARGE",
    "the build side would make the plan too large",
    "Each filter attaches its build side to the scan while the query is planned.",
    by(FilterConf.MAX_DEPENDENCY_NODES)
  )
  val modeOff: String => Reason =
    declined.of1(
      "MODE",
      "the mode {mode} does not allow it",
      "GLOBAL allows all filters.",
      by(FilterConf.MODE)
    )
  val adaptiveOff: Reason = declined.fixed(
    "ADAPTIVE_EXECUTION_OFF",
    "adaptive execution is off, so only the range of a broadcast's integral keys can be pushed to a scan of files",
    "Adaptive execution is on by default in Spark. Switch it on again.",
    Some("spark.sql.adaptive.enabled")
  )
  val reuseOff: Reason = declined.fixed(
    "EXCHANGE_REUSE_OFF",
    "exchanges are not reused, so the build side would run twice",
    "Reuse is on by default in Spark. Switch it on again.",
    Some("spark.sql.exchange.reuse")
  )
  val noSummary: Reason = declined.fixed(
    "SUMMARY_MISSING",
    "the build side's exchange was made without a summary of its keys",
    "Another part of the query had already started this exchange."
  )
  val keysChanged: Reason = declined.fixed(
    "KEYS_CHANGED",
    "the build side's files or the session's settings have changed since its keys were kept",
    "Keys from an earlier query are used only if nothing has changed when the scan starts. The next run collects them again.",
    by(HistoryConf.KEYS)
  )

  val incomplete: (Int, Int) => Reason = declined.of2(
    "SUMMARY_INCOMPLETE",
    "{reported} of {partitions} map partitions reported their keys",
    "A filter needs all keys. Tasks were lost or ended early."
  )
  val tooManyKeys: (Long, Long) => Reason = declined.of2(
    "TOO_MANY_KEYS",
    "the build side has {keys} keys, the limit is {limit}",
    "The driver alone reads the keys of a broadcast relation.",
    by(FilterConf.MAX_KEYS)
  )
  val bloomFull: Double => Reason = declined.of1(
    "BLOOM_TOO_FULL",
    "the bloom filter is so full that {false_positive_rate:percent} of all keys pass",
    "The build side has more keys than expected, or more than the largest bloom filter can hold.",
    by(FilterConf.BLOOM_MAX_BYTES)
  )
  val noBloom: Reason = declined.fixed(
    "SUMMARY_TOO_BIG",
    "the build side has too many keys for a list, and partial bloom filters would be too large to merge",
    "The driver merges one partial bloom filter per task. All of them together may take at most this setting and a twentieth of the driver's heap. Each one may take at most a twentieth of its executor's heap divided by its cores.",
    by(FilterConf.MERGE_BYTES)
  )
  val typesOff: Reason = declined.fixed(
    "KIND_OFF",
    "the kinds of filter that could be used are switched off",
    "All kinds are on by default.",
    by(FilterConf.TYPES)
  )

  private val notPushed = new Topic("Runtime filters: not told to the scan")

  val scanStarted: Reason = notPushed.fixed(
    "SCAN_STARTED",
    "the scan had started when the filter arrived",
    "The scan does not wait for the build side. Tasks test their rows.",
    by(FilterConf.WAIT)
  )
  val noScanColumn: Reason = notPushed.fixed(
    "NO_SCAN_COLUMN",
    "the key is computed and is no column of the scan",
    "A scan compares columns. A column that is cast to another integral type, and one plus or minus a constant, count as the column itself."
  )
  val nothingSkipped: Reason = notPushed.fixed(
    "NOTHING_SKIPPED",
    "the files' statistics show nothing that could be skipped by these keys",
    "Files that are sorted or partitioned by the key can be skipped."
  )
  val scanTakesNone: String => Reason = notPushed.of1(
    "SCAN_TAKES_NONE",
    "{scan} takes no runtime filters",
    "The rows of this source are tested one by one. docs/contribute/connectors.md says what a connector can do."
  )
  val columnNotFiltered: String => Reason = notPushed.of1(
    "COLUMN_NOT_FILTERED",
    "{table} filters at run time by other columns",
    "Most connectors filter by partition columns only."
  )
  val scanShared: Reason = notPushed.fixed(
    "SCAN_SHARED",
    "another part of the query reads through the same scan, or writes what it reads",
    "Such a scan would apply the filter for all of its readers."
  )
  val keysNotTaken: Reason = notPushed.fixed(
    "KEYS_NOT_TAKEN",
    "the scan compares neither the list nor the range of these keys",
    "Up to Spark 4.1, connectors take lists at run time and no ranges."
  )
  val comparesOtherwise: String => Reason = notPushed.of1(
    "COMPARES_OTHERWISE",
    "the source may compare the values of {column} differently from Spark",
    "UUIDs and timestamps of Iceberg, and columns with a default in rows that were written before the column was added. For JDBC, all " +
      "columns except integral ones: a database may compare strings by a collation, and store digits and dates that Spark does not read."
  )
  val scanUnknown: Reason = notPushed.fixed(
    "SCAN_UNKNOWN",
    "it is not known how the scan was built",
    "The scan was not made by Spark's own push-down, or Springbok was switched on later."
  )
  val readsMetadata: Reason = notPushed.fixed(
    "READS_METADATA",
    "the scan reads metadata columns",
    "Columns such as a row's file or position are those of row-level operations, whose scans stay as they are."
  )
  val partitioningUsed: Reason = notPushed.fixed(
    "PARTITIONING_USED",
    "the plan relies on how the scan groups or sorts its rows",
    "A scan of a storage-partitioned join keeps its partitions."
  )
  val versionUnknown: Reason = notPushed.fixed(
    "VERSION_UNKNOWN",
    "the version that the table is read at is not known, so it cannot be read again",
    "The table changed while the query was planned, or is read at a branch or an older version on a Spark that does not tell which."
  )
  val scanDiffers: Reason = notPushed.fixed(
    "SCAN_DIFFERS",
    "the scan, built again, is not equal to the one that Spark has built",
    "The scan is built again only if the connector proves by equality that it reads the same rows."
  )
  val rebuildFailed: String => Reason = notPushed.of1(
    "REBUILD_FAILED",
    "the connector could not build the scan again: {error}",
    "The query goes on with the scan that it had."
  )

  private val both = new Topic("Joins and runtime filters")

  val failed: Reason = both.fixed(
    "FAILED",
    "a rule failed, and Spark's own plan was used",
    "This is a bug in Springbok. The log has one warning with its stack trace. The answer is right anyway."
  )
}

package org.apache.spark.sql.springbok.reason

import org.apache.spark.sql.springbok.conf.FilterConf

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
    "Most rows find a match, so testing them would not pay."
  )
  val noShuffleSaved: (Double, Double) => Reason = declined.of2(
    "NO_SHUFFLE_SAVED",
    "a removed row would save {saved_ns_per_row} ns between scan and join, and testing a row takes {paid_ns_per_row} ns",
    "No shuffle, sort or aggregate stands between scan and join, so the join itself removes the rows as cheaply."
  )
  private val tooLittle = declined.of3[Double, String, Double](
    "SMALL_BENEFIT",
    "would save only about {benefit_ms} ms{beside} (minimum: {least_ms} ms)",
    "The tables are small, or other filters of the same scan remove most of the rows that this one would remove.",
    by(FilterConf.MIN_BENEFIT_MS)
  )
  def smallBenefit(ms: Double, least: Double): Reason = tooLittle(ms, "", least)
  def otherFiltersSuffice(ms: Double, least: Double): Reason =
    tooLittle(ms, " beside better filters of the same scans", least)
  val noWaiting: Reason = declined.fixed(
    "NO_WAITING",
    "the scan would have to wait for the build side's stage",
    "If the scan does not wait, only filters that are tested row by row can be used later.",
    by(FilterConf.WAIT)
  )
  private val readByOthers = declined.of1[String](
    "EXCHANGE_REUSED",
    "the scan is read by other parts of the query as well: {why}",
    "Spark computes this part of the query once for several readers. A filter for one of them would split it."
  )
  val reusedExchange: Reason = readByOthers("an exchange above it is read more than once")
  val pruningSide: Reason = readByOthers("dynamic partition pruning reads its side")
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
    "the query has as many filters as it may have, and the others save more",
    "They are counted by target scan and by the bytes of their bloom filters."
  )
  private val off = declined.of1[String](
    "MODE",
    "{setting} does not allow it",
    "The mode GLOBAL allows all filters.",
    by(FilterConf.MODE)
  )
  def modeOff(mode: String): Reason = off(s"the mode $mode")
  val typesOff: Reason = off(s"the list ${FilterConf.TYPES.key}")
  val waitEnded: Reason = declined.fixed(
    "WAIT_ENDED",
    "the build side's stage took so long that waiting for it cost more than the filter would have saved",
    "A task of the build side is slow, or few of its tasks are left. The scan started without the filter."
  )
  private val missing = declined.of1[String](
    "SUMMARY_INCOMPLETE",
    "the keys of the build side are not complete: {why}",
    "A filter needs all keys. Another part of the query had already started the exchange, or tasks were lost or ended early."
  )
  val noSummary: Reason = missing("its exchange was made without a summary of them")
  def incomplete(reported: Int, partitions: Int): Reason =
    missing(s"$reported of $partitions map partitions reported them")

  private val manyKeys = declined.of1[String](
    "TOO_MANY_KEYS",
    "the build side has too many keys: {why}",
    "The driver merges what each task sends, hashes of its keys or a bloom filter, and reads the keys of a broadcast relation. Both are limited by its heap.",
    by(FilterConf.BLOOM_MAX_BYTES)
  )
  def tooManyKeys(keys: Long, limit: Long): Reason =
    manyKeys(
      s"the driver would read ${Reason.count(keys.toDouble, "of them")} (maximum: ${Reason.count(limit.toDouble, "keys")})"
    )
  def bloomFull(falsePositives: Double): Reason =
    manyKeys(s"${Reason.percent(falsePositives)} of all keys would pass the largest bloom filter")
  val noBloom: Reason = manyKeys(
    "they are too many for a list, and its tasks cannot send as many bytes as a bloom filter takes"
  )
  private val notPushed = new Topic("Runtime filters: not pushed down")

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
  private val takesNone = notPushed.of1[String](
    "SCAN_TAKES_NONE",
    "the source cannot apply it: {why}",
    "Rows of this source are tested one by one. Most connectors filter by partition columns only, and up to Spark 4.1 they take lists and no ranges. See docs/contribute/connectors.md."
  )
  def scanTakesNone(scan: String): Reason = takesNone(s"$scan takes no runtime filters")
  def columnNotFiltered(table: String): Reason = takesNone(s"$table filters at run time by other columns")
  val keysNotTaken: Reason = takesNone("it compares neither the list nor the range of these keys")
  private val scanKept = notPushed.of1[String](
    "SCAN_KEPT",
    "the scan must stay as it is: {why}",
    "A scan is built again with the filter only if the connector proves by equality that it reads the same rows, and if nothing else depends on it."
  )
  val scanShared: Reason = scanKept("another part of the query reads through it, or writes what it reads")
  val scanUnknown: Reason = scanKept(
    "it was not made by Spark's push-down, or before Springbok was switched on"
  )
  val readsMetadata: Reason = scanKept("it reads metadata columns, as row-level operations do")
  val partitioningUsed: Reason = scanKept("the plan relies on how it groups or sorts its rows")
  val versionUnknown: Reason = scanKept("the version of the table that it reads is not known")
  val scanDiffers: Reason = scanKept("built again, it is not equal to the one that Spark has built")
  def rebuildFailed(error: String): Reason = scanKept(s"the connector could not build it again: $error")
  val comparesOtherwise: String => Reason = notPushed.of1(
    "COMPARES_OTHERWISE",
    "the source may compare the values of {column} differently from Spark",
    "UUIDs and timestamps of Iceberg, and columns with a default in rows that were written before the column was added. For JDBC, all " +
      "columns except integral ones: a database may compare strings by a collation, and store digits and dates that Spark does not read."
  )
  private val merge = new Topic("MERGE")

  val conditionAdded: String => Reason = merge.of1(
    "CONDITION_ADDED",
    "ON has the keys of the source as well ({keys})",
    "The table format skips the files that cannot match, as with a range written by hand. The table's history shows the longer condition."
  )
  val targetKept: String => Reason = merge.of1(
    "TARGET_KEPT",
    "the target is read as without Springbok: {why}",
    "A table is pruned by plain columns that ON equates with columns of the source, and by which it is sorted, clustered or partitioned."
  )
  val sourceKept: String => Reason = merge.of1(
    "SOURCE_KEPT",
    "the keys of the source are not added to ON: {why}",
    "The source is read twice, so it must give the same rows again. Write it to a table first if it reads streams, RDDs, cached data or functions of users."
  )
  private val both = new Topic("Joins and runtime filters")

  val failed: Reason = both.fixed(
    "FAILED",
    "a rule failed, and Spark's own plan was used",
    "This is a bug in Springbok. The log has one warning with its stack trace. The answer is right anyway."
  )
}

package org.apache.spark.sql.springbok.reason

import org.apache.spark.sql.springbok.conf.FilterConf

/** What became of a runtime filter: why it was not made, not used, or used only in part. */
private[springbok] trait FilterReasons { this: ReasonRegistry =>
  private val made = new Topic("Runtime filters: made")

  val placed: Reason = made.fixed(
    "PLACED",
    "placed; decided when the build side has finished",
    "The query has not run yet, or not this far."
  )
  val late: Reason = made.fixed(
    "LATE",
    "placed; its scan starts without it, and tasks that begin after it has arrived test their rows",
    "Waiting for the build side would take longer than the filter saves. One that is not used came after its scan had ended.",
    by(FilterConf.WAIT)
  )
  val used: Seq[String] => Reason = made.of1("USED", "applied as {kinds}", "The filter was at work.")

  private val declined = new Topic("Runtime filters: not made")

  val filterJoinType: String => Reason = declined.of1(
    "JOIN_TYPE_UNSUPPORTED",
    "a {type} join must keep the rows that a filter would remove",
    "Only a side that loses its rows without a match can be filtered."
  )
  val keyType: String => Reason = declined.of1(
    "KEY_TYPE_UNSUPPORTED",
    "keys of type {type} get no filter",
    "Numbers, dates, timestamps, intervals, strings, binary, and structs and arrays of these do; BOOLEAN and TIME do not."
  )
  val keyExpression: String => Reason = declined.of1(
    "KEY_EXPRESSION",
    "the key {key} is not computed at a scan: it might raise an error there, is not deterministic, or is too large",
    "A key that is a column, or a cast that loses nothing, always may. Arithmetic that raises on overflow (ANSI mode) may not."
  )
  val noSource: Reason = declined.fixed(
    "NO_EXCHANGE",
    "the keys of neither side come out of an exchange, so nothing is finished first",
    "Both sides are computed in one stage, so the filter could not be ready before the rows."
  )
  val indeterminate: Reason = declined.fixed(
    "BUILD_SIDE_INDETERMINATE",
    "the build side may give other rows when it is computed again",
    "Limits without an order, samples, random values and user code on the build side."
  )
  val noTarget: Reason = declined.fixed(
    "NO_TARGET",
    "no scan holds the probe side's key below operators that a filter may pass",
    "The key is an aggregate's or a window's result, or comes from below a limit or an outer join's null-generating side."
  )
  val notSelective: Double => Reason = declined.of1(
    "NOT_SELECTIVE",
    "about {kept:percent} of the probe side's rows would stay",
    "Most rows find a match, so testing them would not pay.",
    by(FilterConf.MIN_REJECTION)
  )
  val noShuffleSaved: (Double, Double) => Reason = declined.of2(
    "NO_SHUFFLE_SAVED",
    "a removed row would save {saved_ns_per_row} ns between scan and join, testing one takes {paid_ns_per_row} ns",
    "No shuffle, sort or aggregate stands between scan and join, so the join itself removes the rows as cheaply."
  )
  val smallBenefit: (Double, Double) => Reason = declined.of2(
    "SMALL_BENEFIT",
    "it would save about {benefit_ms} ms; the least is {least_ms} ms",
    "The tables are small.",
    by(FilterConf.MIN_BENEFIT_MS)
  )
  val noWaiting: Reason = declined.fixed(
    "NO_WAITING",
    "the scan would have to wait for the build side's stage",
    "Where it does not wait, only filters that are tested row by row can come later.",
    by(FilterConf.WAIT)
  )
  val reusedExchange: Reason = declined.fixed(
    "EXCHANGE_REUSED",
    "the scan is below an exchange that is read twice and would have to run twice",
    "Spark computes this part of the query once for several readers; a filter of one of them would split it."
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
  val filterHint: Reason = declined.fixed(
    "FILTER_HINT",
    "the query's hint NO_RUNTIME_FILTER_TARGET forbids it",
    "`/*+ NO_RUNTIME_FILTER_TARGET(t) */` keeps all filters away from a relation, `/*+ RUNTIME_FILTER_TARGET(t) */` asks for them whatever they cost."
  )
  val tooManyFilters: Reason = declined.fixed(
    "TOO_MANY_FILTERS",
    "the query has as many filters as are allowed, and those save more",
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
    "adaptive execution is off, so only the range of a broadcast's whole-number keys can be pushed to a scan of files",
    "Adaptive execution is Spark's default; switch it on again.",
    Some("spark.sql.adaptive.enabled")
  )
  val reuseOff: Reason = declined.fixed(
    "EXCHANGE_REUSE_OFF",
    "exchanges are not reused, so the build side would run twice",
    "Reuse is Spark's default; switch it on again.",
    Some("spark.sql.exchange.reuse")
  )
  val noSummary: Reason = declined.fixed(
    "SUMMARY_MISSING",
    "the build side's exchange was made without a summary of its keys",
    "Another part of the query had started this exchange already, for itself."
  )
  val incomplete: (Int, Int) => Reason = declined.of2(
    "SUMMARY_INCOMPLETE",
    "{reported} of {partitions} map partitions reported their keys",
    "A filter is made only of all keys; tasks were lost or cut short."
  )
  val tooManyKeys: (Long, Long) => Reason = declined.of2(
    "TOO_MANY_KEYS",
    "the build side has {keys} keys, the limit is {limit}",
    "The driver reads a broadcast relation's keys alone.",
    by(FilterConf.MAX_KEYS)
  )
  val bloomFull: Double => Reason = declined.of1(
    "BLOOM_TOO_FULL",
    "the bloom filter is so full that {false_positive_rate:percent} of all keys pass",
    "The build side has more keys than were expected, or than the largest bloom filter holds.",
    by(FilterConf.BLOOM_MAX_BYTES)
  )
  val noBloom: Reason = declined.fixed(
    "SUMMARY_TOO_BIG",
    "the build side has too many keys for a list, and partial bloom filters would be too large to merge",
    "The driver merges one partial bloom filter of each task: all of them may take the least of this setting and a twentieth of the driver's heap, each one a twentieth of its executor's heap divided by its cores.",
    by(FilterConf.MERGE_BYTES)
  )
  val typesOff: Reason = declined.fixed(
    "KIND_OFF",
    "the kinds of filter that would serve are off",
    "All kinds are on by default.",
    by(FilterConf.TYPES)
  )

  private val both = new Topic("Joins and runtime filters")

  val failed: Reason = both.fixed(
    "FAILED",
    "a rule failed and the plan went on as Spark made it",
    "A bug in Springbok: the log has one warning with its stack trace. The answer is right all the same."
  )
}

package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildSide}
import org.apache.spark.sql.springbok.SpringbokConf
import org.apache.spark.sql.springbok.cost.{Alternative, JoinCost}

/**
 * Why something was decided: a code, its numbers, a sentence, and the setting that would change it.
 *
 * @param code
 *   stable, for programs
 * @param args
 *   the numbers that the sentence speaks of, by name
 */
final case class Reason(code: String, args: Seq[(String, Any)], text: String, setting: Option[String] = None)

object Reason {
  import SpringbokConf._

  def side(s: BuildSide): String = if (s == BuildLeft) "left" else "right"

  // Joins: why this strategy.
  def cheapest(best: Alternative, next: Option[Alternative]): Reason = Reason(
    "LOWEST_COST",
    Seq("cost" -> best.cost) ++ next.map("next_cost" -> _.cost),
    s"${best.strategy.name} costs ${bytes(best.cost)}" +
      next.fold(", the only one possible")(n => s", ${n.strategy.name} ${bytes(n.cost)}")
  )
  def tie(cost: Double): Reason =
    Reason("TIE", Seq("cost" -> cost), s"two strategies cost ${bytes(cost)}", Some(JOIN_DEFAULT_MODE.key))
  def statsUnknown(left: JoinCost.Side, right: JoinCost.Side): Reason = {
    val missing = Seq("left" -> left, "right" -> right).filter(_._2.rows.isEmpty).map(_._1)
    Reason(
      "STATS_UNKNOWN",
      Seq("sides" -> missing),
      s"the rows of the ${missing.mkString(" and ")} side are unknown",
      Some(JOIN_DEFAULT_MODE.key)
    )
  }
  def hint(text: String): Reason =
    Reason("USER_HINT", Seq("hint" -> text), s"the query's own hint $text decides")
  val notEqui: Reason = Reason("NOT_EQUI_JOIN", Nil, "the join has no equality between its sides")
  val feedsPruning: Reason =
    Reason("FEEDS_PARTITION_PRUNING", Nil, "its build side prunes partitions and is kept as Spark plans it")
  val bucketed: Reason = Reason("BUCKETED", Nil, "a side is bucketed and may need no shuffle")
  val joinDisabled: Reason =
    Reason("JOIN_CHOICE_OFF", Nil, "the choice of join strategies is switched off", Some(JOIN_ENABLED.key))
  val broadcastStarted: Reason = Reason("BROADCAST_STARTED", Nil, "its build side is being broadcast already")

  // Joins: why not this one.
  def joinType(strategy: String, build: BuildSide): Reason = Reason(
    "JOIN_TYPE_UNSUPPORTED",
    Seq("build" -> side(build)),
    s"this type of join, or of keys, cannot be a $strategy join that builds the ${side(build)} side"
  )
  val notSortable: Reason = Reason("KEYS_NOT_SORTABLE", Nil, "the keys cannot be sorted")
  val sizeUnknown: Reason = Reason("SIZE_UNKNOWN", Nil, "the size of the build side is unknown")
  def tooBig(size: Double, limit: Double): Reason = Reason(
    "BUILD_SIDE_TOO_BIG",
    Seq("bytes" -> size, "limit" -> limit),
    s"the build side may take ${bytes(size)}, the limit is ${bytes(limit)}",
    Some(BROADCAST_BYTES_LIMIT.key)
  )
  def hashTableTooBig(size: Double, limit: Double): Reason = Reason(
    "HASH_TABLE_TOO_BIG",
    Seq("bytes" -> size, "limit" -> limit),
    s"one partition's hash table may take ${bytes(size)}, a task may use ${bytes(limit)}",
    Some(SHUFFLED_HASH_MEMORY_FRACTION.key)
  )

  // Filters: why not made, not used, or used only in part.
  def filterJoinType(t: String): Reason =
    Reason(
      "JOIN_TYPE_UNSUPPORTED",
      Seq("type" -> t),
      s"a $t join must keep the rows that a filter would remove"
    )
  def keyType(t: String): Reason =
    Reason("KEY_TYPE_UNSUPPORTED", Seq("type" -> t), s"keys of type $t get no filter")
  val noSource: Reason =
    Reason(
      "NO_EXCHANGE",
      Nil,
      "no side of the join comes directly out of an exchange, so nothing is finished first"
    )
  val indeterminate: Reason =
    Reason("BUILD_SIDE_INDETERMINATE", Nil, "the build side may give other rows when it is computed again")
  val noTarget: Reason =
    Reason("NO_TARGET", Nil, "no scan of a file holds the probe side's key below operators that it may pass")
  def notSelective(kept: Double): Reason = Reason(
    "NOT_SELECTIVE",
    Seq("kept" -> kept),
    f"about ${kept * 100}%.0f%% of the probe side's rows would stay",
    Some(FILTER_MIN_REJECTION.key)
  )
  def noShuffleSaved(saved: Double, paid: Double): Reason = Reason(
    "NO_SHUFFLE_SAVED",
    Seq("saved_ns_per_row" -> saved, "paid_ns_per_row" -> paid),
    f"testing a row takes about $paid%.0f ns and would save $saved%.0f ns between scan and join"
  )
  def smallBenefit(benefit: Double, least: Double): Reason = Reason(
    "SMALL_BENEFIT",
    Seq("benefit_ms" -> benefit, "least_ms" -> least),
    f"it would save about $benefit%.0f ms, and make a scan wait for another stage",
    Some(FILTER_MIN_BENEFIT_MS.key)
  )
  def reusedExchange: Reason =
    Reason(
      "EXCHANGE_REUSED",
      Nil,
      "the scan is below an exchange that is read twice and would have to run twice"
    )
  val pruningSide: Reason =
    Reason(
      "FEEDS_PARTITION_PRUNING",
      Nil,
      "the scan's side prunes partitions elsewhere and must stay as it is"
    )
  val tooManyFilters: Reason =
    Reason(
      "TOO_MANY_FILTERS",
      Nil,
      "the query has as many filters as are allowed",
      Some(FILTER_MAX_NUMBER.key)
    )
  val planTooLarge: Reason =
    Reason(
      "PLAN_TOO_LARGE",
      Nil,
      "the build side would make the plan too large",
      Some(FILTER_MAX_EDGE_NODES.key)
    )
  def modeOff(mode: String): Reason =
    Reason("MODE", Seq("mode" -> mode), s"the mode $mode does not allow it", Some(FILTER_MODE.key))
  val adaptiveOff: Reason = Reason(
    "ADAPTIVE_EXECUTION_OFF",
    Nil,
    "adaptive execution is off, so no build side is finished before the scan",
    Some("spark.sql.adaptive.enabled")
  )
  val reuseOff: Reason = Reason(
    "EXCHANGE_REUSE_OFF",
    Nil,
    "exchanges are not reused, so the build side would run twice",
    Some("spark.sql.exchange.reuse")
  )
  val noSummary: Reason =
    Reason("SUMMARY_MISSING", Nil, "the build side's exchange was made without a summary of its keys")
  def incomplete(reported: Int, partitions: Int): Reason = Reason(
    "SUMMARY_INCOMPLETE",
    Seq("reported" -> reported, "partitions" -> partitions),
    s"$reported of $partitions map partitions reported their keys"
  )
  def tooManyKeys(keys: Long, limit: Long): Reason = Reason(
    "TOO_MANY_KEYS",
    Seq("keys" -> keys, "limit" -> limit),
    s"the build side has $keys keys, the limit is $limit",
    Some(FILTER_MAX_KEYS.key)
  )
  def bloomFull(rate: Double): Reason = Reason(
    "BLOOM_TOO_FULL",
    Seq("false_positive_rate" -> rate),
    f"the bloom filter is so full that ${rate * 100}%.0f%% of all keys pass",
    Some(FILTER_BLOOM_MAX_BYTES.key)
  )
  val noBloom: Reason = Reason(
    "SUMMARY_TOO_BIG",
    Nil,
    "the build side has too many keys for a list, and partial bloom filters would be too large to merge",
    Some(FILTER_MERGE_BYTES.key)
  )
  val failed: Reason = Reason("FAILED", Nil, "a rule failed and the plan went on as Spark made it")
  val typesOff: Reason =
    Reason("KIND_OFF", Nil, "the kinds of filter that would serve are off", Some(FILTER_TYPES.key))
  def used(kinds: Seq[String]): Reason =
    Reason("USED", Seq("kinds" -> kinds), s"applied as ${kinds.mkString(" + ")}")
  val placed: Reason = Reason("PLACED", Nil, "placed; decided when the build side has finished")

  /** Bytes, readable. */
  def bytes(b: Double): String = {
    val units = Seq("B", "KB", "MB", "GB", "TB", "PB")
    val i = if (b < 1) 0 else math.min(units.size - 1, (math.log(b) / math.log(1024)).toInt)
    if (i == 0) f"$b%.0f B" else f"${b / math.pow(1024, i)}%.1f ${units(i)}"
  }
}

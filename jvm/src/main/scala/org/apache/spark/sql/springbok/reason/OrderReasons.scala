package org.apache.spark.sql.springbok.reason

import org.apache.spark.sql.springbok.conf.ReorderConf

/** Why joins are in the order in which they are. */
private[springbok] trait OrderReasons { this: ReasonRegistry =>
  private val order = new Topic("Join order")

  val lowerCost: (Double, Double) => Reason = order.of2(
    "LOWER_COST",
    "it is expected to cost {after} ms of one core, the order of the query {before} ms",
    "The joins were put into another order."
  )
  val smallGain: (Double, Double) => Reason = order.of2(
    "SMALL_GAIN",
    "the best order found would save {gain:percent}, at least {least:percent} are asked for",
    "The order is left: estimates are not exact enough for less.",
    by(ReorderConf.MIN_GAIN)
  )
  val guessedGain: (Double, Double) => Reason = order.of2(
    "GUESSED_GAIN",
    "another order would save {gain:percent} if predicates of unknown selectivity are as selective as guessed, and cost {loss:percent} more if they remove nothing",
    "The order is left. Statistics of the columns in the predicates may tell more."
  )
  val unknownOrder: Seq[String] => Reason = order.of1(
    "STATS_UNKNOWN",
    "the rows of {relations} are unknown",
    "Collect statistics (`ANALYZE TABLE ... COMPUTE STATISTICS`) or store the table as Parquet."
  )
  val hintedOrder: Reason =
    order.fixed(
      "USER_HINT",
      "the query gives hints for these joins",
      "Without them the order may be changed."
    )
  val orderPruning: Reason = order.fixed(
    "FEEDS_PARTITION_PRUNING",
    "the plan prunes partitions at run time by these joins as they are",
    "The pruning is worth more than another order."
  )
  val orderBucketed: Reason =
    order.fixed("BUCKETED", "a table is bucketed and its joins may need no shuffle", "The order is left.")
  val orderRaises: String => Reason = order.of1(
    "MAY_RAISE",
    "in another order {condition} might fail on rows that are removed before it now",
    "Conditions with casts, arithmetic or user functions that may raise an error keep the order as it is."
  )
  val rowOrder: Reason = order.fixed(
    "ROW_ORDER",
    "something above these joins, such as a LIMIT without ORDER BY, depends on the order of their rows",
    "Another join order would give other rows. Sort before the limit."
  )
  val tooManyRelations: Int => Reason =
    order.of1("TOO_MANY_RELATIONS", "there are {relations} relations", "The order is searched up to 60.")
}

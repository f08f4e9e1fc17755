package org.apache.spark.sql.springbok.reason

import org.apache.spark.sql.springbok.conf.ReorderConf

/** Why joins are in the order in which they are. */
private[springbok] trait OrderReasons { this: ReasonRegistry =>
  private val order = new Topic("Join order")

  val lowerCost: (Double, Double) => Reason = order.of2(
    "LOWER_COST",
    "it is expected to cost {after} ms of one core, and the order of the query {before} ms",
    "The joins were put into another order."
  )
  val smallGain: (Double, Double) => Reason = order.of2(
    "SMALL_GAIN",
    "the best order found would save {gain:percent}, at least {least:percent} are asked for",
    "The order stays, because the estimates are not accurate enough for a smaller gain.",
    by(ReorderConf.MIN_GAIN)
  )
  val shortGain: (Double, Double) => Reason = order.of2(
    "SHORT_GAIN",
    "the best order found would save {gain} ms while all cores work, at least {least} are asked for",
    "The order stays: a short query spends more time on another plan than it may gain.",
    by(ReorderConf.MIN_GAIN_MS)
  )
  val shortJoins: (Double, Double) => Reason = order.of2(
    "SHORT_JOINS",
    "the joins are expected to take {joins} ms while all cores work, and another order must save {least}",
    "The order stays, and no other one is searched.",
    by(ReorderConf.MIN_GAIN_MS)
  )
  val cheapJoins: (Double, Double) => Reason = order.of2(
    "CHEAP_JOINS",
    "the joins are expected to be {joins:percent} of the cost, scans included, and another order must save {least:percent}",
    "The order stays, and no other one is searched.",
    by(ReorderConf.MIN_GAIN)
  )
  val uncertainGain: (Double, Double, String) => Reason = order.of3(
    "UNCERTAIN_GAIN",
    "another order would save {gain:percent} if all estimates are right, and cost {loss:percent} more if {what}",
    "The order stays. Collect statistics."
  )
  val guessedGain: (Double, Double) => Reason = order.of2(
    "GUESSED_GAIN",
    "another order would save {gain:percent} if predicates of unknown selectivity are as selective as guessed, and cost {loss:percent} more if they remove nothing",
    "The order stays. Collect statistics of the columns in the predicates."
  )
  val unknownOrder: Seq[String] => Reason = order.of1(
    "STATS_UNKNOWN",
    "the rows of {relations} are unknown",
    "Collect statistics (`ANALYZE TABLE ... COMPUTE STATISTICS`) or store the table as Parquet."
  )
  val hintedOrder: Reason =
    order.fixed(
      "USER_HINT",
      "the query has hints for these joins",
      "Without the hints, the order may be changed."
    )
  val orderOfSubquery: Reason = order.fixed(
    "SUBQUERY",
    "Spark plans a subquery before its query, both may have the same joins, and Spark runs equal joins once",
    "The order stays, in the subquery and in equal joins of its query."
  )
  val orderPruning: Reason = order.fixed(
    "FEEDS_PARTITION_PRUNING",
    "the plan prunes partitions at run time by these joins",
    "The pruning is worth more than another order."
  )
  val orderBucketed: Reason =
    order.fixed("BUCKETED", "a table is bucketed and its joins may need no shuffle", "The order stays.")
  val orderRaises: String => Reason = order.of1(
    "MAY_RAISE",
    "in another order {condition} might fail on rows that are now removed before it",
    "The order stays if a condition, or a column that is computed below the joins, has casts, arithmetic or user " +
      "functions that may raise an error."
  )
  val rowOrder: Reason = order.fixed(
    "ROW_ORDER",
    "something above these joins, such as a LIMIT without ORDER BY, depends on the order of their rows",
    "Another join order might give other rows. Sort before the limit."
  )
  val tooManyRelations: Int => Reason =
    order.of1(
      "TOO_MANY_RELATIONS",
      "there are {relations} relations",
      "The order is searched for up to 60 relations."
    )
}

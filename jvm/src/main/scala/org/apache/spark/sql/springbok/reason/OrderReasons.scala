package org.apache.spark.sql.springbok.reason

/** Why joins are in the order in which they are. */
private[springbok] trait OrderReasons { this: ReasonRegistry =>
  private val order = new Topic("Join order")

  val lowerCost: (Double, Double) => Reason = order.of2(
    "LOWER_COST",
    "it is expected to cost {after} ms of one core, and the order of the query {before} ms",
    "The joins were put into another order."
  )
  private val tooLittle = order.of2[String, String](
    "SMALL_GAIN",
    "{what}; another order must save at least {least}",
    "The order stays: the estimates are not accurate enough for a smaller gain, and a short query spends more time on another plan."
  )
  private def little(
      value: Double,
      least: Double,
      text: (Double, Int) => String,
      what: String => String
  ): Reason = {
    val (v, l) = Reason.apart(value, least)(text)
    tooLittle(what(v), l)
  }
  def smallGain(gain: Double, least: Double): Reason =
    little(gain, least, Reason.percent, g => s"the best order found would save $g")
  def shortGain(gain: Double, least: Double): Reason =
    little(gain, least, Reason.ms, g => s"the best order found would save $g while all cores work")
  def shortJoins(joins: Double, least: Double): Reason =
    little(joins, least, Reason.ms, j => s"the joins are expected to take $j while all cores work")
  def cheapJoins(joins: Double, least: Double): Reason =
    little(joins, least, Reason.percent, j => s"the joins are expected to be $j of the cost, scans included")
  val uncertainGain: (Double, Double, String) => Reason = order.of3(
    "UNCERTAIN_GAIN",
    "another order would save {gain:percent} if the estimates are right, and cost {loss:percent} more if {what}",
    "The order stays. Collect statistics of the columns in predicates and keys."
  )
  def guessedGain(gain: Double, loss: Double): Reason =
    uncertainGain(gain, loss, "predicates of unknown selectivity remove nothing")
  val unknownOrder: Seq[String] => Reason = order.of1(
    "STATS_UNKNOWN",
    "the rows of {relations} are unknown",
    "Collect statistics (`ANALYZE TABLE ... COMPUTE STATISTICS`) or store the table as Parquet."
  )
  private val byHint = order.of1[String](
    "USER_HINT",
    "the query's hints for these joins {effect}",
    "With hints for joins, only LEADING alone changes their order. Without hints, costs decide."
  )
  val hintedOrder: Reason = byHint("keep their order")
  val askedOrder: Reason = byHint("ask for this order")
  private val keeps = order.of1[String](
    "ORDER_FIXED",
    "the order must stay: {why}",
    "Another order would lose more than it could gain, or would not be searched in a reasonable time."
  )
  val orderOfSubquery: Reason =
    keeps(
      "Spark plans a subquery before its query, both may have the same joins, and Spark runs equal joins once"
    )
  val orderPruning: Reason = keeps("the plan prunes partitions at run time by these joins")
  val orderBucketed: Reason = keeps("a table is bucketed, so its joins may need no shuffle")
  def tooManyRelations(n: Int): Reason = keeps(
    s"there are $n relations, and the order of up to 60 is searched"
  )
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

  private val aggregate = new Topic("Aggregates")

  val aggregateBelow: (Double, Double, Double) => Reason = aggregate.of3(
    "AGGREGATED_FIRST",
    "tasks are expected to leave {retained:percent} of the rows, which costs {cost} ms of one core and saves {saved} ms",
    "Tasks aggregate first; the aggregate above adds up, or a semi or anti join needs each key once."
  )
  private val above = aggregate.of1[String](
    "AGGREGATED_ABOVE",
    "the rows are joined first: {why}",
    "It costs less, or results of parts of the rows could not be added up."
  )
  def aggregateAbove(retained: Double, cost: Double, saved: Double): Reason =
    above {
      val left =
        if (retained == 0) "even if tasks left no row,"
        else f"tasks would leave ${Reason.percent(retained)} of the rows, and"
      f"$left it would cost $cost%.0f ms of one core and save $saved%.0f ms"
    }
  val unknownGroups: Reason = above("it is unknown how often their keys repeat")
}

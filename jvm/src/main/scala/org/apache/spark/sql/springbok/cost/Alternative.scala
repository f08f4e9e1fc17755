package org.apache.spark.sql.springbok.cost

import org.apache.spark.sql.springbok.reason.Reason

/**
 * One way to execute a join.
 *
 * @param terms
 *   the parts of its cost by name, in bytes
 */
final case class Alternative(strategy: Strategy, terms: JoinCost.Terms, ruledOut: Option[RuledOut]) {

  /** The whole cost in bytes, [[JoinCost.Unknown]] if a part is unknown. */
  val cost: Double = JoinCost.sum(terms)
}

/** Why a strategy is not taken. */
sealed trait RuledOut {
  def reason: Reason
}

object RuledOut {

  /** It cannot compute the join, or never well, or the query forbids it. */
  final case class Impossible(reason: Reason) extends RuledOut

  /** It could compute the join and should not: the build side may not fit, or another side is the better one to build. */
  final case class Unwise(reason: Reason) extends RuledOut
}

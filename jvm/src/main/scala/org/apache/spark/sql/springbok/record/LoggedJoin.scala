package org.apache.spark.sql.springbok.record

import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, JoinType}
import org.apache.spark.sql.catalyst.plans.logical.JoinHint
import org.apache.spark.sql.springbok.cost.Strategy
import org.apache.spark.sql.springbok.reason.Reason

/**
 * A join as the report shows it.
 *
 * @param other
 *   the conjuncts that are not equalities of keys
 * @param hint
 *   the query's own hint
 * @param sparkStrategy
 *   the strategy that Spark's planner would choose by the sizes that it knows
 */
final class LoggedJoin(
    @volatile private[record] var number: Int,
    val joinType: String,
    val leftKeys: Seq[String],
    val rightKeys: Seq[String],
    val other: Option[String],
    val hint: JoinHint,
    val sparkStrategy: Option[Strategy]
) {
  @volatile private var first = Option.empty[JoinDecision]
  @volatile private var last = Option.empty[JoinDecision]
  @volatile private[record] var separation: Option[Reason] = None

  def id: Int = number

  /** What the first planning decided. */
  def planned: Option[JoinDecision] = first

  /** What the last planning decided. */
  def latest: Option[JoinDecision] = last

  /** Why its groups have an exchange of their own. */
  def separated: Option[Reason] = separation

  private[record] def decided(d: JoinDecision): Unit = {
    if (first.isEmpty) first = Some(d)
    last = Some(d)
  }
}

object LoggedJoin {

  /** The join's type in SQL. EXISTS below an OR becomes a join for which SQL has no word. */
  def typeName(t: JoinType): String = t match {
    case _: ExistenceJoin => "EXISTENCE"
    case _ => t.sql
  }
}

package org.apache.spark.sql.springbok.record

import org.apache.spark.sql.springbok.catalyst.FailureLog
import org.apache.spark.sql.springbok.reason.Reason

/**
 * What was decided about a query that no later planning has to know. The planner only adds to it, and the report alone reads
 * it. What plannings remember is in [[PlanningState]].
 */
final class Decisions extends FailureLog {
  private var added = Vector.empty[Decision]

  def add(d: Decision): Unit = synchronized { added = added :+ d }
  private[record] def all: Seq[Decision] = synchronized(added)

  def orders: Seq[DecidedOrder] = all.collect { case o: DecidedOrder => o }
  def conjuncts: Seq[DecidedConjuncts] = all.collect { case c: DecidedConjuncts => c }
  def aggregates: Seq[DecidedAggregate] = all.collect { case a: DecidedAggregate => a }
  def merges: Seq[DecidedMerge] = all.collect { case m: DecidedMerge => m }
  def failures: Seq[FailedRule] = all.collect { case f: FailedRule => f }.distinct

  // The class alone: a message may hold data.
  override def failed(rule: String, e: Throwable): Unit = add(FailedRule(rule, e.getClass.getName))
}

sealed trait Decision

/** A rule that failed, and the class of its exception. The original plan went on. */
final case class FailedRule(rule: String, error: String) extends Decision

/** Whether the keys of its source were added to the condition of a MERGE. */
final case class DecidedMerge(reason: Reason) extends Decision

/**
 * An aggregate above joins.
 *
 * @param groups
 *   its keys
 * @param below
 *   the relations whose rows are aggregated before they are joined with the others, None if they are not
 * @param rows,
 *   retained expected rows of these relations, and of those the rows after it
 */
final case class DecidedAggregate(
    groups: String,
    below: Option[String],
    rows: Option[Double],
    retained: Option[Double],
    reason: Reason
) extends Decision

/**
 * The conjuncts of a filter or join whose order was considered, as they are now.
 *
 * @param before,
 *   after expected ns per row in Spark's order and in this one
 */
final case class DecidedConjuncts(
    operator: String,
    changed: Boolean,
    before: Double,
    after: Double,
    order: Seq[DecidedConjunct]
) extends Decision

/**
 * A conjunct whose place was considered.
 *
 * @param cost
 *   ns per row
 * @param selectivity
 *   the fraction of the rows that pass, None if unknown
 */
final class DecidedConjunct(
    text: => String,
    val cost: Double,
    val selectivity: Option[Double],
    val mayRaise: Boolean
) {
  lazy val condition: String = text
}

/**
 * A join order that was considered.
 *
 * @param before,
 *   after the query's order and the one that replaced it, as `lineitem, (orders, customer)`
 * @param best
 *   the best order found, where the query's own stays
 * @param costBefore,
 *   costAfter expected ms of one core for the query's order and for the best one found
 */
final case class DecidedOrder(
    relations: Int,
    before: String,
    after: Option[String],
    best: Option[String],
    costBefore: Option[Double],
    costAfter: Option[Double],
    reason: Reason
) extends Decision

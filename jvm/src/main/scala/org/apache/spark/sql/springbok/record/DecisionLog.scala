package org.apache.spark.sql.springbok.record

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.ExprId
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, JoinType}
import org.apache.spark.sql.catalyst.plans.logical.JoinHint
import org.apache.spark.sql.springbok.catalyst.FailureLog
import org.apache.spark.sql.springbok.cost.{JoinChoice, JoinInput, Strategy}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.FilterState._
import org.apache.spark.sql.springbok.stats.estimate.Source

/** Everything that was decided about a query: what the report shows. */
final class DecisionLog extends FailureLog {
  private val loggedJoins = mutable.ArrayBuffer.empty[LoggedJoin]
  private val loggedFilters = mutable.LinkedHashMap.empty[(Int, Int, Option[ExprId]), FilterRecord]
  private val loggedOrders = mutable.ArrayBuffer.empty[LoggedOrder]
  private val loggedConjuncts = mutable.ArrayBuffer.empty[LoggedConjuncts]
  private val loggedFailures = mutable.LinkedHashSet.empty[(String, String)]

  /** Why the whole query is left to Spark. */
  @volatile var leftToSpark: Option[Reason] = None

  /** Adds what the planning of a subquery has decided so far. Its joins get new numbers. */
  private[record] def adopt(other: DecisionLog): Unit = synchronized {
    other.loggedJoins.foreach { j =>
      j.number = loggedJoins.size
      loggedJoins += j
    }
    loggedOrders ++= other.loggedOrders
    loggedConjuncts ++= other.loggedConjuncts
    loggedFailures ++= other.loggedFailures: Unit
  }

  /**
   * @param make
   *   the join with this number
   */
  def addJoin(make: Int => LoggedJoin): LoggedJoin = synchronized {
    val j = make(loggedJoins.size)
    loggedJoins += j
    j
  }

  def addOrder(o: LoggedOrder): Unit = synchronized(loggedOrders += o): Unit
  def addConjuncts(c: LoggedConjuncts): Unit = synchronized(loggedConjuncts += c): Unit

  override def failed(rule: String, e: Throwable): Unit = synchronized {
    // The class alone: a message may hold data.
    loggedFailures.add(rule -> e.getClass.getName): Unit
  }

  /**
   * Places the filter from a key of a join to a column. A later planning finds the same filter, and so keeps its number.
   *
   * @param placed
   *   its state, by its number
   * @param make
   *   the filter, made in this state when it is placed for the first time
   */
  def place(join: Int, key: Int, target: ExprId, placed: Int => FilterState)(
      make: FilterState => FilterRecord
  ): FilterRecord = synchronized {
    def next = loggedFilters.values.count(_.number.isDefined)
    loggedFilters.get((join, key, Some(target))) match {
      case Some(f) =>
        f.transition(s => placed(s.placement.fold(next)(_.number)))
        f
      case None =>
        val f = make(placed(next))
        loggedFilters.put((join, key, Some(target)), f)
        f
    }
  }

  /** Removes filters that were placed and then left out of the plan. */
  def withdraw(fs: Set[FilterRecord]): Unit =
    synchronized(loggedFilters.filterInPlace((_, f) => !fs(f))): Unit

  /**
   * No filter is placed from a key of a join. The first reason stands: a later one follows from it, for instance a missing
   * summary that was never made.
   *
   * @param label
   *   the build side's key
   */
  def decline(join: Int, key: Int, label: => String, why: Reason): Unit = synchronized {
    val before = placed(join, key)
    if (before.isEmpty)
      loggedFilters.getOrElseUpdate(
        (join, key, None),
        new FilterRecord(join, key, label, None, Declined(why))
      ): Unit
    else
      // One that an earlier planning placed is at work in a stage that has started, or is not needed any more.
      before.foreach(_.transition {
        case p: Placed if p.obsolete.isEmpty => p.copy(obsolete = Some(why))
        case s => s
      })
  }

  /** Whether the filters from a key of a join have been declined, and none was ever placed. */
  def declined(join: Int, key: Int): Boolean = synchronized {
    loggedFilters.contains((join, key, None)) && placed(join, key).isEmpty
  }

  private def placed(join: Int, key: Int): Seq[FilterRecord] =
    loggedFilters.values.filter(f => f.join == join && f.key == key && f.number.isDefined).toList

  def joins: Seq[LoggedJoin] = synchronized(loggedJoins.toList)

  /** Without those that found no place at first and did when the query was planned again. */
  def filters: Seq[FilterRecord] = synchronized {
    val all = loggedFilters.values.toList
    val placed = all.filter(_.number.isDefined).map(f => f.join -> f.key).toSet
    all.filterNot(f => f.number.isEmpty && f.target.isEmpty && placed(f.join -> f.key))
  }

  def orders: Seq[LoggedOrder] = synchronized(loggedOrders.toList)
  def conjuncts: Seq[LoggedConjuncts] = synchronized(loggedConjuncts.toList)
  def failures: Seq[(String, String)] = synchronized(loggedFailures.toList)
}

/**
 * The conjuncts of a filter or join whose order was considered, as they stand now.
 *
 * @param before,
 *   after expected ns per row in Spark's order and in this one
 */
final case class LoggedConjuncts(
    operator: String,
    changed: Boolean,
    before: Double,
    after: Double,
    order: Seq[LoggedConjunct]
)

/**
 * A conjunct whose place was considered.
 *
 * @param cost
 *   ns per row
 * @param selectivity
 *   the fraction of the rows that pass, None if unknown
 */
final class LoggedConjunct(
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
final case class LoggedOrder(
    relations: Int,
    before: String,
    after: Option[String],
    best: Option[String],
    costBefore: Option[Double],
    costAfter: Option[Double],
    reason: Reason
)

/**
 * A join as the report shows it.
 *
 * @param hint
 *   the query's own hint
 * @param sparkStrategy
 *   the strategy that Spark's planner would choose by the sizes that it knows
 */
final class LoggedJoin(
    @volatile private[record] var number: Int,
    val joinType: String,
    texts: => JoinTexts,
    val hint: JoinHint,
    val sparkStrategy: Option[Strategy]
) {
  lazy val condition: JoinTexts = texts
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

/** The condition of a join: its keys, and the conjuncts that are not equalities of keys. */
final case class JoinTexts(leftKeys: Seq[String], rightKeys: Seq[String], other: Option[String])

object LoggedJoin {

  /** The join's type in SQL. EXISTS below an OR becomes a join for which SQL has no word. */
  def typeName(t: JoinType): String = t match {
    case _: ExistenceJoin => "EXISTENCE"
    case _ => t.sql
  }
}

/**
 * What one planning decided about a join.
 *
 * @param input
 *   what the choice was made from, None if the join was left to Spark without one
 * @param leftSource,
 *   rightSource where the number of rows of each side comes from
 * @param notes
 *   hints of the query and statistics of its tables that were ignored
 */
final case class JoinDecision(
    choice: JoinChoice,
    input: Option[JoinInput],
    leftSource: Option[Source],
    rightSource: Option[Source],
    notes: Seq[Reason] = Nil
)

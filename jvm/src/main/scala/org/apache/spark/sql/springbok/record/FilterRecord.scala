package org.apache.spark.sql.springbok.record

import java.util.concurrent.atomic.AtomicReference

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.ExprId
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.FilterState._

/**
 * The state of a runtime filter, or of one that was not made: planning, the plan's operators and the report share it.
 *
 * @param key
 *   number of the join's conjunct that it is made of
 * @param target
 *   the scan's column, None for a filter that reaches none
 */
final class FilterRecord(
    val join: Int,
    val key: Int,
    label: => String,
    val target: Option[FilterColumn]
) {
  lazy val sourceKey: String = label
  private val current = new AtomicReference[FilterState](Undecided)

  @volatile private var remembered = Option.empty[(AnyRef, AnyRef, FilterState)]

  /** What was decided from this very build side, for another copy of the filter in the plan. It is in that state again. */
  def recall(source: AnyRef): Option[AnyRef] =
    remembered.collect {
      case (from, decision, before) if from eq source =>
        transition(_ => before)
        decision
    }

  /** Keeps a decision together with the state that it led to. */
  def remember(source: AnyRef, decision: AnyRef): Unit = remembered = Some((source, decision, state))

  def state: FilterState = current.get

  /** Moves to another state in one step. */
  def transition(change: FilterState => FilterState): Unit = current.updateAndGet(change(_)): Unit

  /** Counts the filters that were placed; None for one that never was. */
  def number: Option[Int] = state.filter.map(_.number)
  def reason: Reason = state.reason

  /** The ways in which it is applied. */
  def kinds: Seq[String] = state match {
    case u: Used => u.kinds
    case _ => Nil
  }

  def targetTable: Option[String] = target.map(_.table)
  def targetColumn: Option[String] = target.map(_.column)

  /** What it takes and prunes. */
  def effect: FilterEffect = state match {
    case u: Used => u.effect
    case _ => FilterEffect.none
  }

  def expectedRetained: Option[Double] = state.filter.flatMap(_.expectedRetained)

  /** The fraction of the probe side's rows that passes, as far as it is known by now. */
  def retained: Option[Double] = {
    val now = state
    now.found.retained.orElse(now.filter.flatMap(_.expectedRetained))
  }

  /** Placed and applied. */
  def use(kinds: Seq[String], found: BuildFacts, effect: FilterEffect = FilterEffect.none): Unit =
    transition(s => s.filter.fold(s)(Used(_, kinds, found, effect)))

  /** Not made, or placed and not applied. */
  def decline(why: Reason, found: BuildFacts = BuildFacts.unknown): Unit =
    transition(s => Declined(why, s.filter, found))
}

/**
 * The runtime filters of a query, and the keys from which none was made. A later planning finds the same filters, which keep
 * their numbers.
 */
final class QueryFilters {
  private val known = mutable.LinkedHashMap.empty[(Int, Int, Option[ExprId]), FilterRecord]
  private var numbers = 0

  /** The filter from a key of a join to a column, if a planning has placed it. */
  def find(join: Int, key: Int, target: ExprId): Option[FilterRecord] =
    synchronized(known.get((join, key, Some(target))))

  /** The number of a new filter. Subqueries are planned at the same time as their query. */
  def reserve(): Int = synchronized {
    numbers += 1
    numbers - 1
  }

  /** Takes back numbers of filters that are not placed after all, as far as no other was reserved since. */
  def release(unused: Seq[Int]): Unit = synchronized {
    for (n <- unused.sortBy(-_) if n == numbers - 1) numbers = n
  }

  /** Takes over what one planning has decided, in its order. */
  def commit(changes: Seq[FilterChange]): Unit = synchronized {
    changes.foreach {
      case FilterChange(f, d @ Declined(_, None, _)) => decline(f, d)
      case FilterChange(f, state) =>
        known.getOrElseUpdate((f.join, f.key, f.target.map(_.id)), f): Unit
        f.transition(_ => state)
    }
  }

  /** The first reason holds: a later one follows from it, for instance a missing summary that was never made. */
  private def decline(f: FilterRecord, declined: Declined): Unit = {
    val before = placed(f.join, f.key)
    if (before.isEmpty) known.getOrElseUpdate((f.join, f.key, None), { f.transition(_ => declined); f }): Unit
    else
      // One that an earlier planning placed is at work in a stage that has started, or is not needed any more.
      before.foreach(_.transition {
        case p: Placed if p.obsolete.isEmpty => p.copy(obsolete = Some(declined.reason))
        case s => s
      })
  }

  /** Whether the filters from a key of a join have been declined, and none was ever placed. */
  def declined(join: Int, key: Int): Boolean =
    synchronized(known.contains((join, key, None)) && placed(join, key).isEmpty)

  /** The fraction of rows that was expected to pass filters from a key of a join, when they were placed. */
  def expected(join: Int, key: Int): Option[Double] =
    synchronized(placed(join, key).flatMap(_.expectedRetained).minOption)

  private def placed(join: Int, key: Int): Seq[FilterRecord] =
    known.values.filter(f => f.join == join && f.key == key && f.number.isDefined).toList

  /** Without those that found no place at first and did when the query was planned again. */
  def all: Seq[FilterRecord] = synchronized {
    val every = known.values.toList
    val placed = every.filter(_.number.isDefined).map(f => f.join -> f.key).toSet
    every.filterNot(f => f.number.isEmpty && f.target.isEmpty && placed(f.join -> f.key))
  }
}

/** A filter and the state that a planning gives it; one without a target is a key from which none is placed. */
final case class FilterChange(filter: FilterRecord, state: FilterState)

/**
 * What was learned of a filter's build side when it had finished.
 *
 * @param retained
 *   the fraction of the probe side's rows that passes by these numbers
 * @param waitedMs
 *   time in ms from the start of the build side's stage to the decision
 */
final case class BuildFacts(
    rows: Option[Long] = None,
    keys: Option[Long] = None,
    retained: Option[Double] = None,
    waitedMs: Option[Long] = None
)

object BuildFacts {
  val unknown: BuildFacts = BuildFacts()
}

/**
 * What an applied filter takes and prunes.
 *
 * @param bytes
 *   size of the key set that rows are tested against
 * @param falsePositiveRate
 *   the fraction of non-matching keys that pass the test
 * @param rowGroups
 *   how many of the scan's row groups are pruned, and how many there are
 * @param pushed
 *   how the scan was told of it, or why it was not; None if that was not asked
 */
final case class FilterEffect(
    bytes: Option[Long] = None,
    falsePositiveRate: Option[Double] = None,
    rowGroups: Option[(Int, Int)] = None,
    pushed: Option[Either[Reason, String]] = None
)

object FilterEffect {
  val none: FilterEffect = FilterEffect()
}

/** How far a runtime filter has come. A change replaces the whole state. */
sealed trait FilterState {

  /** The filter as it was placed last, None if it was never placed. */
  def filter: Option[RuntimeFilter]

  /** Why it is in this state. */
  def reason: Reason

  /** What was learned of the build side. */
  def found: BuildFacts = BuildFacts.unknown
}

object FilterState {

  /** The planning that looks for it is not over. */
  case object Undecided extends FilterState {
    override def filter: Option[RuntimeFilter] = None
    override def reason: Reason = Reason.noSource
  }

  /** Not placed, or placed and then not worth its cost. */
  final case class Declined(
      reason: Reason,
      filter: Option[RuntimeFilter] = None,
      override val found: BuildFacts = BuildFacts.unknown
  ) extends FilterState

  /**
   * In the plan. Its scan waits for the build side.
   *
   * @param obsolete
   *   why a later planning did not place it again
   */
  final case class Placed(at: RuntimeFilter, obsolete: Option[Reason] = None) extends FilterState {
    override def filter: Option[RuntimeFilter] = Some(at)
    override def reason: Reason = obsolete.getOrElse(Reason.placed)
  }

  /** In the plan. Its scan starts without it. */
  final case class Late(at: RuntimeFilter) extends FilterState {
    override def filter: Option[RuntimeFilter] = Some(at)
    override def reason: Reason = Reason.late
  }

  /** Applied, in one or several ways. */
  final case class Used(
      at: RuntimeFilter,
      kinds: Seq[String],
      override val found: BuildFacts,
      effect: FilterEffect = FilterEffect.none
  ) extends FilterState {
    override def filter: Option[RuntimeFilter] = Some(at)
    override def reason: Reason = Reason.used(kinds)
  }
}

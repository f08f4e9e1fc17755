package org.apache.spark.sql.springbok.record

import java.util.concurrent.atomic.AtomicReference

import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.FilterState._

/**
 * A runtime filter of the query, or one that was not made: planning, the plan's operators and the report share it.
 *
 * @param key
 *   number of the join's conjunct that it is made of
 * @param target
 *   the scan's column, None for a filter that reaches none
 */
final class FilterRecord(
    val join: Int,
    val key: Int,
    val sourceKey: String,
    val target: Option[FilterColumn],
    initial: FilterState
) {
  private val current = new AtomicReference(initial)

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
  def number: Option[Int] = state.placement.map(_.number)
  def id: String = number.map(_.toString).fold("-")(n => s"RF${"0" * (3 - n.length)}$n")
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

  def expectedRetained: Option[Double] = state.placement.flatMap(_.expectedRetained)

  /** The fraction of the probe side's rows that passes, as far as it is known by now. */
  def retained: Option[Double] = {
    val now = state
    now.found.retained.orElse(now.placement.flatMap(_.expectedRetained))
  }

  /** Placed and applied. */
  def use(kinds: Seq[String], found: BuildFacts, effect: FilterEffect = FilterEffect.none): Unit =
    transition(s => s.placement.fold(s)(Used(_, kinds, found, effect)))

  /** Not made, or placed and not applied. */
  def decline(why: Reason, found: BuildFacts = BuildFacts.unknown): Unit =
    transition(s => Declined(why, s.placement, found))
}

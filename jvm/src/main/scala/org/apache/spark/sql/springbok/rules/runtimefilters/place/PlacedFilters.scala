package org.apache.spark.sql.springbok.rules.runtimefilters.place

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{Expression, ExprId}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.springbok.FilterInfo
import org.apache.spark.sql.springbok.catalyst.{ExpressionLabel, JoinSide}
import org.apache.spark.sql.springbok.keys.SourceKey
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{FilterColumn, FilterRecord, FilterState, JoinState, Placement}

/** One scan that a filter goes to. */
final private[springbok] case class PlacedAt(target: ExprId, info: FilterInfo)

/** A key of a creation side whose filters are placed. */
final private[springbok] case class PlacedKey(
    applicationKey: Expression,
    sourceKey: SourceKey,
    at: Seq[PlacedAt],
    retained: Option[Double],
    bloomBytes: Long
) {

  /** Whether a filter is made of what the exchange gives. */
  def readsExchange: Boolean = at.exists(_.info.known.isEmpty)

  /** Its filters on the way to their scans, as dependencies on this exchange. */
  def pending(exchange: SparkPlan): PendingFilter =
    PendingFilter(
      applicationKey,
      sourceKey,
      exchange,
      FilterParts(at.map(a => a.target -> a.info).toMap, retained)
    )
}

/**
 * The filters that one walk over a plan has placed so far.
 *
 * @param refused
 *   the keys that the budget refuses, and why
 * @param maxNodes
 *   the most operators that filter dependencies may add to the plan
 */
final private[springbok] class PlacedFilters(
    refused: Map[FilterBudget.Key, Reason],
    maxNodes: Int,
    targets: FilterTargets,
    planning: FilterPlanning
) {
  private val asked = mutable.LinkedHashMap.empty[FilterBudget.Key, FilterBudget.Request]
  private val made = mutable.Set.empty[FilterRecord]
  private val sides = mutable.Map.empty[JoinState, JoinSide]
  private var nodes = 0

  /** What was asked of the budget. */
  def requests: Seq[FilterBudget.Request] = asked.values.toSeq

  /** The filters that no earlier planning has placed. */
  def fresh: Set[FilterRecord] = made.toSet

  /** The sides that joins have filters from. */
  def sources: Map[JoinState, JoinSide] = sides.toMap

  /** Places the filters of a key, or says why none is placed. */
  def place(key: CreationKey): Either[Reason, PlacedKey] =
    for {
      _ <- refused.get(key.id).toLeft(())
      candidate <- Candidate.of(key)
      worth <- Gate.pass(candidate, planning, targets)
      _ = asked.getOrElseUpdate(key.id, worth.request(planning))
      _ <- Either.cond(nodes + worth.nodes <= maxNodes, (), Reason.planTooLarge)
    } yield {
      nodes += worth.nodes
      sides += key.side.state -> key.side.side
      placed(worth)
    }

  private def placed(c: Candidate): PlacedKey = {
    val state = c.key.side.state
    // A later planning finds the same keys, whatever happens to what is kept.
    for (keys <- c.known) state.knownKeys.putIfAbsent(c.key.on.index, keys.kept)
    if (c.known.isEmpty) c.waiting.foreach(state.scansWait.putIfAbsent(c.key.on.index, _))
    if (!c.targets.forall(c.waits)) state.lateFilters = true
    val at = c.targets.map(t => PlacedAt(t.column.exprId, info(c, t, record(c, t))))
    // What a late filter retains depends on when it arrives.
    val retained = c.key.retained.filter(_ => c.scansWait)
    PlacedKey(c.applicationKey, c.sourceKey, at.distinctBy(_.target), retained, c.key.bloomBytes)
  }

  private def record(c: Candidate, t: Target): FilterRecord = {
    val key = c.key
    def placed(number: Int): FilterState = {
      val at = Placement(number, key.retained, c.timing(t), c.waiting)
      if (c.waits(t)) FilterState.Placed(at) else FilterState.Late(at)
    }
    key.side.state.query.log.place(key.id.join, key.id.index, t.column.exprId, placed) { state =>
      val label = ExpressionLabel(key.on.creation)
      val column = FilterColumn(t.table, t.label, t.column.exprId)
      val record = new FilterRecord(key.id.join, key.id.index, label, Some(column), state)
      made += record
      record
    }
  }

  private def info(c: Candidate, t: Target, record: FilterRecord): FilterInfo =
    FilterInfo(
      c.key.side.state.query,
      record,
      c.key.estimate.flatMap(_.domain),
      t.saving,
      planning.minRejection,
      c.key.hinted,
      targets.pushable(t.at),
      t.grouped,
      local = c.local(t),
      late = Option.unless(c.waits(t))(planning.waiting.lateFilter()),
      known = c.known.filterNot(_ => c.local(t)),
      collects = if (c.known.isEmpty) c.key.collects else None
    )
}

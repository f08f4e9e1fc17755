package org.apache.spark.sql.springbok.rules.runtimefilters.place

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{Expression, ExprId}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.springbok.{AppliedRuntimeFilterExec, FilterInfo}
import org.apache.spark.sql.springbok.catalyst.{ExpressionLabel, JoinSide}
import org.apache.spark.sql.springbok.keys.{KeyLookup, SourceKey, SplitBlockBloom}
import org.apache.spark.sql.springbok.physical.LateFilter
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{
  BuildFacts,
  FilterColumn,
  FilterRecord,
  FilterState,
  JoinState,
  Placement
}
import org.apache.spark.sql.springbok.rules.runtimefilters.{FilterWorth, FinishedKeys, RowTestChoice, Verdict}

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
 */
final private[springbok] class PlacedFilters(
    refused: Map[FilterBudget.Key, Reason],
    targets: FilterTargets,
    planning: FilterPlanning
) {
  private val asked = mutable.LinkedHashMap.empty[FilterBudget.Key, FilterBudget.Request]
  private val made = mutable.Set.empty[FilterRecord]
  private val sides = mutable.Map.empty[JoinState, JoinSide]
  private var nodes = 0L

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
      _ <- Either.cond(nodes + worth.nodes <= PlacedFilters.mostNodes, (), Reason.tooManyFilters)
    } yield {
      nodes += worth.nodes
      sides += key.side.state -> key.side.side
      placed(worth)
    }

  private def placed(c: Candidate): PlacedKey = {
    val state = c.key.side.state
    c.waiting.foreach(state.scansWait.putIfAbsent(c.key.on.index, _))
    if (!c.targets.forall(c.waits)) state.lateFilters = true
    val at = c.targets.map(t => PlacedAt(t.column.exprId, info(c, t, record(c, t))))
    if (c.scansWait) state.stageWait.mayLose(planning.waiting.mostIdleMs(c))
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
      def label = ExpressionLabel(key.on.creation)
      val column = FilterColumn(t.table, t.label, t.column.exprId)
      val record = new FilterRecord(key.id.join, key.id.index, label, Some(column), state)
      made += record
      record
    }
  }

  private def info(c: Candidate, t: Target, record: FilterRecord): FilterInfo =
    FilterInfo(
      c.key.side.state,
      record,
      c.key.estimate.flatMap(_.domain),
      t.saving,
      planning.minRejection,
      c.key.hinted,
      targets.pushable(t.at),
      t.grouped,
      local = c.local(t),
      mayBeLate = planning.waiting.mayBeLate(c.key, t),
      late = Option.unless(c.waits(t))(planning.waiting.lateFilter())
    )
}

private[springbok] object PlacedFilters {

  /** Most operators of build sides in the canonical forms of filters, which adaptive execution compares. */
  private val mostNodes = 3000L
}

/** A late filter whose scan has started. Its build side must summarize its key. */
final private[springbok] case class StartedFilter(
    record: FilterRecord,
    sourceKey: SourceKey,
    bloomBytes: Long
)

/** The late filters of scans that have started. */
final private[springbok] class StartedFilters(planning: FilterPlanning) {

  /** Joins that got late filters in an earlier planning: no scans of other joins can have started without their filters. */
  private val joins = planning.query.joins.filter(_.lateFilters).map(_.id).toSet

  /**
   * The started filters of a join. Each planning looks for them, because it may be their build side that has just finished:
   * then they are decided.
   */
  def of(side: CreationSide): Seq[StartedFilter] =
    for {
      at <- if (joins(side.state.id)) LateFilter.expected(side.application) else Nil
      if at.info.record.join == side.state.id
      on <- side.source.conjuncts if on.index == at.info.record.key
      key <- BuildSides.sourceKey(side.source.exchange, side.join, side.side, on, planning.rows)
    } yield {
      for (late <- at.late if BuildSides.finished(side.source.exchange))
        late.decide(decided(at, key, side))
      StartedFilter(at.info.record, key, planning.selectivity.bloomBytes(side.join, side.side, on))
    }

  /** The filter for the scan's tasks, or that there is none because it is not worth its tests. */
  private def decided(at: AppliedRuntimeFilterExec, key: SourceKey, side: CreationSide): LateFilter.State = {
    val record = at.info.record
    val worth = new FilterWorth(at.info, at.key, planning.conf)
    def declined(why: Reason, found: BuildFacts): LateFilter.State = {
      record.decline(why, found)
      LateFilter.Never
    }
    FinishedKeys.read(key, side.source.exchange, worth, planning.conf) match {
      case Left(d) => declined(d.why, d.found)
      case Right(keys) =>
        val retained = keys.retained(at.info.domain)
        val found = BuildFacts(Some(keys.facts.rows), keys.distinct.map(_.round), retained)
        new RowTestChoice(worth, keys, planning.conf).ofKeys match {
          case Left(why) => declined(why, found)
          case Right(test) =>
            val late = Verdict.Apply(Left(Reason.scanStarted), Some(test), found)
            record.use("late" +: late.kinds, found, late.effect)
            val set = test.keySet.fold[KeyLookup](SplitBlockBloom.ofBytes(32))(_.built(keys))
            LateFilter.arrived(set)
        }
    }
  }
}

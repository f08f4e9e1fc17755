package org.apache.spark.sql.springbok.rules.runtimefilters.place

import scala.collection.immutable.ListMap
import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.ExprId
import org.apache.spark.sql.execution.springbok.AppliedRuntimeFilterExec
import org.apache.spark.sql.springbok.catalyst.ExpressionLabel
import org.apache.spark.sql.springbok.keys.{KeyLookup, SourceKey, SplitBlockBloom}
import org.apache.spark.sql.springbok.physical.LateFilter
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{
  BuildFacts,
  FilterChange,
  FilterColumn,
  FilterRecord,
  FilterState,
  JoinState,
  RuntimeFilter
}
import org.apache.spark.sql.springbok.rules.runtimefilters.{FilterWorth, FinishedKeys, RowTestChoice, Verdict}

/**
 * A key of a creation side whose filters are placed.
 *
 * @param filters
 *   by the columns of the scans that they are placed on
 */
final private[springbok] case class PlacedKey(of: Candidate, filters: ListMap[ExprId, RuntimeFilter]) {

  /** The fraction of rows that are expected to pass. What a late filter retains depends on when it arrives. */
  def retained: Option[Double] = of.key.retained.filter(_ => of.scansWait)
}

/**
 * The filters that one walk over a plan has placed so far. The query knows of them once the walk is committed.
 *
 * @param refused
 *   the keys that the budget refuses, and why
 */
final private[springbok] class PlacedFilters(
    refused: Map[FilterBudget.Key, Reason],
    targets: FilterTargets,
    planning: FilterPlanning
) {
  private val query = planning.query
  private val asked = mutable.LinkedHashMap.empty[FilterBudget.Key, FilterBudget.Request]
  private val changes = mutable.ArrayBuffer.empty[FilterChange]
  private val fresh = mutable.Map.empty[(FilterBudget.Key, ExprId), RuntimeFilter]
  private val passed = mutable.ArrayBuffer.empty[Candidate]
  private var nodes = 0L

  /** What was asked of the budget. */
  def requests: Seq[FilterBudget.Request] = asked.values.toSeq

  /** Makes the decisions of the walk those of the query. */
  def commit(): Unit = {
    query.filters.commit(changes.toSeq)
    for (c <- passed; join = c.key.side.state) {
      if (!c.targets.forall(c.waits)) join.place(_.copy(late = true))
      if (c.scansWait) join.stageWait(c.key.exchange).mayLose(planning.waiting.mostIdleMs(c))
    }
    val sides = passed.map(c => c.key.side.state -> c.key.side.side).toMap
    for ((join, side) <- sides) join.place(f => f.copy(source = f.source.orElse(Some(side))))
  }

  /** The walk is not committed: its new filters do not exist. */
  def discard(): Unit = query.filters.release(fresh.values.map(_.number).toSeq)

  /** No filter is placed from a key of a join. */
  def decline(join: JoinState, on: FilterConjunct, why: Reason): Unit = {
    // The text is made when somebody reads it.
    val record = new FilterRecord(join.id, on.index, ExpressionLabel(on.creation), None)
    changes += FilterChange(record, FilterState.Declined(why))
  }

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
      placed(worth)
    }

  private def placed(c: Candidate): PlacedKey = {
    passed += c
    for (w <- c.waiting)
      c.key.side.state.place(f => f.copy(waits = Map(c.key.on.index -> w) ++ f.waits))
    PlacedKey(c, ListMap.from(c.targets.map(t => t.column.exprId -> filter(c, t)).distinctBy(_._1)))
  }

  /** The filter to a scan's column, which keeps the number that it was placed with first. */
  private def filter(c: Candidate, t: Target): RuntimeFilter = {
    val (key, target) = (c.key, t.column.exprId)
    val made = fresh.get(key.id -> target)
    val known = made.map(_.record).orElse(query.filters.find(key.id.join, key.id.index, target))
    val f = RuntimeFilter(
      key.side.state,
      known.getOrElse(record(key, t)),
      made.map(_.number).orElse(known.flatMap(_.number)).getOrElse(query.filters.reserve()),
      key.retained,
      t.saving,
      planning.minRejection,
      key.estimate.flatMap(_.domain),
      c.timing(t),
      c.waiting,
      key.hinted,
      targets.pushable(t.at),
      t.grouped,
      planning.waiting.mayBeLate(key, t)
    )
    if (known.isEmpty) fresh += (key.id -> target) -> f
    changes += FilterChange(f.record, if (c.waits(t)) FilterState.Placed(f) else FilterState.Late(f))
    f
  }

  private def record(key: CreationKey, t: Target): FilterRecord = {
    val (creation, column) = (key.on.creation, FilterColumn(t.table, t.label, t.column.exprId))
    new FilterRecord(key.id.join, key.id.index, ExpressionLabel(creation), Some(column))
  }
}

private[springbok] object PlacedFilters {

  /** Most operators of build sides in the canonical forms of filters, which adaptive execution compares. */
  private val mostNodes = 3000L
}

/** A late filter whose scan has started. Its build side must summarize its key. */
final private[springbok] case class StartedFilter(
    filter: RuntimeFilter,
    sourceKey: SourceKey,
    bloomBytes: Long
)

/** The late filters of scans that have started. */
final private[springbok] class StartedFilters(planning: FilterPlanning) {

  /** Joins that got late filters in an earlier planning: no scans of other joins can have started without their filters. */
  private val joins = planning.query.joins.filter(_.filters.late).map(_.id).toSet

  /**
   * The started filters of a join. Each planning looks for them, because it may be their build side that has just finished:
   * then they are decided.
   */
  def of(side: CreationSide): Seq[StartedFilter] =
    for {
      at <- if (joins(side.state.id)) LateFilter.expected(side.application) else Nil
      if at.filter.record.join == side.state.id
      on <- side.source.conjuncts if on.index == at.filter.record.key
      key <- BuildSides.sourceKey(side.source.exchange, side.join, side.side, on, planning.rows)
    } yield {
      for (late <- at.late if BuildSides.finished(side.source.exchange))
        late.decide(decided(at, key, side))
      StartedFilter(at.filter, key, planning.selectivity.bloomBytes(side.join, side.side, on))
    }

  /** The filter for the scan's tasks, or that there is none because it is not worth its tests. */
  private def decided(at: AppliedRuntimeFilterExec, key: SourceKey, side: CreationSide): LateFilter.State = {
    val record = at.filter.record
    val worth = new FilterWorth(at.filter, at.key, planning.conf)
    def declined(why: Reason, found: BuildFacts): LateFilter.State = {
      record.decline(why, found)
      LateFilter.Never
    }
    FinishedKeys.read(key, side.source.exchange, worth, planning.conf) match {
      case Left(d) => declined(d.why, d.found)
      case Right(keys) =>
        val retained = keys.retained(at.filter.domain)
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

package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.{BaseJoinExec, ShuffledJoin}
import org.apache.spark.sql.execution.springbok.KeptKeysExec
import org.apache.spark.sql.springbok.catalyst.{ExpressionLabel, JoinSide, Sides}
import org.apache.spark.sql.springbok.cost.FilterCost
import org.apache.spark.sql.springbok.keys.{BuildKey, FilterKey, SourceKey}
import org.apache.spark.sql.springbok.keys.kept.CollectsKeys
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{FilterTiming, JoinState, RelationHint, ScanWait}

/**
 * The side of a join that its filters are made from.
 *
 * @param arriving
 *   the fraction of its rows that other filters are expected to leave before they are read
 */
final private[springbok] case class CreationSide(
    join: BaseJoinExec,
    state: JoinState,
    side: JoinSide,
    source: FilterSource,
    arriving: Double
) {
  def application: SparkPlan = Sides.children(join)(side.other)

  /** Whether the query asks for filters on the application side. */
  def hinted: Boolean = RelationHint.wants(join, side.other.index)

  /** Whether the query forbids filters on the application side. */
  def forbidden: Boolean = RelationHint.forbids(join, side.other.index)
}

/** A key of a creation side, and what statistics say about its filters. */
final private[springbok] class CreationKey(
    val side: CreationSide,
    val on: FilterConjunct,
    planning: FilterPlanning
) {
  val id: FilterBudget.Key = FilterBudget.Key(side.state.id, on.index)
  def exchange: SparkPlan = side.source.exchange

  lazy val hinted: Boolean = side.hinted
  lazy val broadcast: Boolean = !side.join.isInstanceOf[ShuffledJoin]
  lazy val estimate: Option[Retained] = planning.selectivity.retained(side.join, side.side, on)

  /** The fraction of the application side's rows that are expected to pass. */
  lazy val retained: Option[Double] = estimate.map(r => math.min(1.0, r.fraction * side.arriving))

  /** Set if the filters would remove too few rows. */
  lazy val notSelective: Option[Reason] =
    retained.filter(_ > 1 - planning.minRejection && !hinted).map(Reason.notSelective)

  /** The key as an expression of the exchange's output, if it is one. */
  def atExchange: Option[BuildKey] = BuildSides.keyAt(exchange, on)

  /** How it is read from the exchange. */
  def source: Option[SourceKey] = BuildSides.sourceKey(exchange, side.join, side.side, on, planning.rows)

  /** How it would be read, if that is not needed: a stage that was started for known keys has no summary. */
  def unread: Option[SourceKey] = known.flatMap(_ => atExchange).map(SourceKey.Shuffle(_))

  private lazy val table = planning.known.table(this)

  /** What is kept of it for later queries. */
  def collects: Option[CollectsKeys] = side.state.collects.get(on.index).orElse {
    val found =
      if (BuildSides.started(exchange)) None
      else for ((key, t) <- table; files <- t.listing.files) yield CollectsKeys(key, t.source, files)
    found.foreach(side.state.collects.putIfAbsent(on.index, _))
    found
  }

  /** Its keys, if an earlier query has collected them. */
  def known: Option[KeptKeysExec] = table.flatMap { case (_, t) => planning.known.keys(this, t) }

  lazy val bloomBytes: Long = planning.selectivity.bloomBytes(side.join, side.side, on)
}

/**
 * A key on its way through the [[Gate]]s, each of which may narrow down its targets.
 *
 * @param applicationKey
 *   the key on the application side
 * @param sourceKey
 *   how the key is read from the creation side
 * @param benefitMs
 *   time in ms of all cores that the filters are expected to save
 * @param leastMs
 *   time in ms that they must save; 0 if they are made in any case
 * @param waiting
 *   whether all scans wait for the filters; None before that is decided
 * @param known
 *   the keys, if they are known from an earlier query. Only scans in the stage of a broadcast join wait then
 */
final private[springbok] case class Candidate(
    key: CreationKey,
    applicationKey: Expression,
    sourceKey: SourceKey,
    targets: Seq[Target] = Nil,
    benefitMs: Double = 0,
    leastMs: Double = 0,
    waiting: Option[ScanWait] = None,
    known: Option[KeptKeysExec] = None
) {

  /** Whether a scan is in the stage of a broadcast join, which starts when its build side is there. */
  def local(t: Target): Boolean = key.broadcast && t.sameStage

  /** Whether all scans wait for the filters. */
  def scansWait: Boolean = waiting.forall(_.waits)

  /** Whether a scan starts after its filter is there. */
  def waits(t: Target): Boolean = scansWait || local(t)

  def timing(t: Target): FilterTiming =
    if (local(t)) FilterTiming.Local
    else if (known.isDefined) FilterTiming.Known
    else if (scansWait) FilterTiming.Waits
    else FilterTiming.Late

  /** The fraction of rows that is expected to pass. */
  def retained: Double = key.retained.getOrElse(FilterCost.unknownRetained)

  def request(planning: FilterPlanning): FilterBudget.Request = {
    val scans = targets.map(t => t.at.id -> planning.ms((1 - retained) * t.scanNs))
    FilterBudget.Request(
      key.id,
      benefitMs,
      leastMs,
      scans,
      // Nobody knows how many rows have passed before a late filter arrives.
      if (targets.forall(waits)) retained else 1.0,
      FilterBudget.Share(targets.size.toLong, key.bloomBytes)
    )
  }

  /** The number of operators that its filter dependencies add to the plan. */
  def nodes: Int =
    BuildSides.nodes(key.exchange) * targets.count(t => waits(t) && known.isEmpty && !local(t))
}

private[springbok] object Candidate {

  /** A key that can be read on both sides, or why it cannot be. */
  def of(key: CreationKey): Either[Reason, Candidate] = {
    val on = key.on
    for {
      _ <- Either.cond(!key.side.forbidden, (), Reason.filterHint)
      compared <- FilterKey.of(on.application).toRight(Reason.keyType(on.creation.dataType.sql))
      application <- FilterKey
        .atScan(compared)
        .toRight(Reason.keyExpression(ExpressionLabel(on.application)))
      source <- key.source.orElse(key.unread).toRight(Reason.noSummary)
    } yield Candidate(key, application, source)
  }
}

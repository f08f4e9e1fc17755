package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.joins.{BaseJoinExec, ShuffledJoin}
import org.apache.spark.sql.execution.springbok.{BuildSideExec, RuntimeFilterExec}
import org.apache.spark.sql.springbok.catalyst.{ExpressionLabel, JoinSide, Sides}
import org.apache.spark.sql.springbok.cost.CostConstants
import org.apache.spark.sql.springbok.keys.{FilterKey, SourceKey, SplitBlockBloom}
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

  /**
   * The fraction of the application side's rows that are expected to pass. More rows of a finished build side than expected do
   * not decline a filter that was placed before: its rows are counted, and its keys are when the filter is decided.
   */
  lazy val retained: Option[Double] = {
    val before =
      if (BuildSides.finished(exchange)) planning.query.filters.expected(id.join, id.index) else None
    estimate.map(r => (before.toSeq :+ r.fraction * side.arriving :+ 1.0).min)
  }

  /** Set if the filters would remove too few rows. */
  lazy val notSelective: Option[Reason] =
    retained.filter(_ > 1 - planning.minRejection && !hinted).map(Reason.notSelective)

  /** How it is read from the exchange. */
  def source: Option[SourceKey] = BuildSides.sourceKey(exchange, side.join, side.side, on, planning.rows)

  lazy val bloomBytes: Long = planning.selectivity.bloomBytes(side.join, side.side, on)

  /** The fraction of non-matching keys that will pass the bloom filter; None if the stage's tasks cannot send it. */
  lazy val falsePositives: Option[Double] = {
    val counted =
      for {
        made <- planning.selectivity.creation(side.join, side.side, on)
        rows <- made.rows
        keys <- planning.selectivity.keys(made, on)
      } yield planning.sent(exchange, keys, rows.value, bloomBytes).map(SplitBlockBloom.rate(keys, _))
    counted.getOrElse(Some(0.0))
  }
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
 * @param falsePositives
 *   the fraction of non-matching keys that are expected to pass
 * @param waiting
 *   whether all scans wait for the filters; None before that is decided
 */
final private[springbok] case class Candidate(
    key: CreationKey,
    applicationKey: Expression,
    sourceKey: SourceKey,
    targets: Seq[Target] = Nil,
    benefitMs: Double = 0,
    leastMs: Double = 0,
    falsePositives: Double = 0,
    waiting: Option[ScanWait] = None
) {

  /** Whether a scan is in the stage of a broadcast join, which starts when its build side is there. */
  def local(t: Target): Boolean = key.broadcast && t.sameStage

  /** Whether all scans wait for the filters. */
  def scansWait: Boolean = waiting.forall(_.waits)

  /** Whether a scan starts after its filter is there. */
  def waits(t: Target): Boolean = scansWait || local(t)

  def timing(t: Target): FilterTiming =
    if (local(t)) FilterTiming.Local
    else if (scansWait) FilterTiming.Waits
    else FilterTiming.Late

  /** The fraction of rows that is expected to pass. */
  def retained: Double = {
    val matching = key.retained.getOrElse(CostConstants.unknownRetained)
    matching + (1 - matching) * falsePositives
  }

  /** The operators of build sides that it adds to the canonical forms of its scans. */
  def nodes: Long = Candidate.nodes(key.exchange) * targets.count(t => waits(t) && !local(t))

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
}

private[springbok] object Candidate {

  /** The operators of a build side's canonical form, those of its own filters' build sides included. */
  private def nodes(p: SparkPlan): Long = p match {
    case _: QueryStageExec => 1
    case f: RuntimeFilterExec => 1 + nodes(f.child) + nodes(BuildSideExec.of(f.source))
    case _ => 1 + p.children.map(nodes).sum
  }

  /** A key that can be read on both sides, or why it cannot be. */
  def of(key: CreationKey): Either[Reason, Candidate] = {
    val on = key.on
    for {
      _ <- Either.cond(!key.side.forbidden, (), Reason.filterHint)
      compared <- FilterKey.of(on.application).toRight(Reason.keyType(on.creation.dataType.sql))
      application <- FilterKey
        .atScan(compared)
        .toRight(Reason.keyExpression(ExpressionLabel(on.application)))
      source <- key.source.toRight(Reason.noSummary)
    } yield Candidate(key, application, source)
  }
}

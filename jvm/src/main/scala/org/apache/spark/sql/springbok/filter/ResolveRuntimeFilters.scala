package org.apache.spark.sql.springbok.filter

import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.execution.springbok._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.{Guarded, SpringbokConf}
import org.apache.spark.sql.springbok.cost.FilterCost
import org.apache.spark.sql.springbok.report.Reason

/**
 * Decides runtime filters when the stage of their scan is about to be made, and so their build side is finished: from the
 * keys that it really holds, which of IN, min-max and bloom are worth applying, if any.
 *
 * {{{
 *   RuntimeFilter RF000 -> l_orderkey            RuntimeFilter RF000[bloom, minmax] -> l_orderkey
 *   :- Scan parquet lineitem                =>   +- Scan parquet lineitem, DataFilters: l_orderkey >= 7, l_orderkey <= 9000
 *   +- ShuffleQueryStage 0
 * }}}
 *
 *   - What [[ScanPruning]] finds is pushed to the scan: a list, ranges or one range of the keys.
 *   - A bloom filter is tested row by row where the rows it removes save more than all tests cost.
 *
 * '''Why the answer cannot change''': only rows are removed whose key is null or no key of the build side, and placing
 * made sure that the join drops those. The summary counts only if every map partition has reported; a broadcast relation
 * is complete by nature. Where a summary is missing or incomplete the filter passes every row.
 *
 * '''Settings''': `spark.springbok.runtimeFilter.*`.
 */
object ResolveRuntimeFilters extends Rule[SparkPlan] {
  def apply(plan: SparkPlan): SparkPlan =
    if (!plan.exists(_.isInstanceOf[RuntimeFilterExec])) plan
    else {
      def record = plan.collectFirst { case f: RuntimeFilterExec => f.info.query }
      Guarded("ResolveRuntimeFilters", dropped(plan), record) {
        plan.transformUp { case f: RuntimeFilterExec => new FilterDecision(f, conf).resolved }
      }
    }

  private def dropped(plan: SparkPlan): SparkPlan = plan.transformUp { case f: RuntimeFilterExec =>
    f.info.record.decline(Reason.failed)
    f.child
  }

  /** An exchange itself; of a stage the one that it runs, its own or a twin that it reuses. */
  def exchangeOf(source: SparkPlan): SparkPlan = source match {
    case s: ExchangeQueryStageExec => exchangeOf(s.plan)
    case ReusedExchangeExec(_, e) => e
    case e => e
  }

  /** The summary under an exchange or its stage, of the run that filled it. */
  def summaryOf(source: SparkPlan): Option[SummarizeKeysExec] =
    exchangeOf(source).children.headOption.flatMap(under)

  private def under(p: SparkPlan): Option[SummarizeKeysExec] = p match {
    case k: SummarizeKeysExec => Some(k)
    case _: WholeStageCodegenExec | _: InputAdapter => under(p.children.head)
    case _ => None
  }
}

/** The decision about one filter. */
final private class FilterDecision(f: RuntimeFilterExec, conf: SQLConf) {
  import FilterDecision._
  private val record = f.info.record
  private val types = conf.getConf(SpringbokConf.FILTER_TYPES).toSet

  /** Made whatever it is worth: the query asks for it, or a test. */
  private val forced = f.info.wanted || conf.getConf(SpringbokConf.FORCED).isDefined

  /** The filter decided; a copy of it elsewhere in the plan, with the same build side, shares the decision. */
  def resolved: SparkPlan = {
    val exchange = ResolveRuntimeFilters.exchangeOf(f.source)
    val outcome = record.memo match {
      case Some((of, o: Outcome)) if of eq exchange => o
      case _ =>
        val o = decide()
        record.memo = Some(exchange -> o)
        record.waitedMs = ResolveRuntimeFilters.summaryOf(exchange).flatMap(_.runningMs)
        o
    }
    rewritten(outcome)
  }

  /** The filter of a scan that has started already, to be tested row by row. */
  def late: Option[SplitBlockBloom] = {
    val test = counted.flatMap(rowLevel)
    test match {
      case Left(why) => record.decline(why)
      case Right(_) => record.use(Seq("late", "bloom"))
    }
    test.toOption.map(
      _.getOrElse(SplitBlockBloom.ofBytes(32))
    )
  }

  /** What the build side has, also for the report. */
  private def counted: Either[Reason, KeyFacts] = {
    val found = facts
    for (k <- found) {
      record.buildRows = Some(k.rows)
      record.buildKeys = distinct(k).map(_.round)
    }
    found
  }

  private def decide(): Outcome = counted match {
    case Left(why) =>
      record.decline(why)
      Outcome(None, None)
    case Right(k) =>
      val (pushed, row) = f.sourceKey match {
        case SourceKey.Bound(_, comparison) => bounded(comparison, k)
        case _ =>
          val pushed = push {
            case (s: FileSourceScanExec, a) => new ScanPruning(s, a, f.key.dataType, conf).of(k, forced)
            case (c: BatchScanExec, a) if f.info.pushable => ConnectorPruning.of(c, a, k, conf)
          }
          (pushed, rowLevel(k).map(test))
      }
      val kinds = (pushed.map(_.kind).toSeq ++ row.toOption.map(_.kind)).distinct
      if (kinds.isEmpty) record.decline(row.swap.getOrElse(Reason.typesOff)) else record.use(kinds)
      Outcome(pushed, row.toOption)
  }

  private def rewritten(o: Outcome): SparkPlan =
    if (o.pushed.isEmpty && o.row.isEmpty) f.child
    else {
      val child = o.pushed.fold(f.child)(_.into(f.child))
      // The scan may skip some rows of a key that is not on the build side and read others.
      val whole = o.pushed.filter(_ => f.info.grouped).map(_.predicate)
      val test = (whole ++ o.row.map(_.predicate)).reduceOption(And(_, _))
      val applied =
        AppliedRuntimeFilterExec(f.sourceKey, f.key, test, f.source.canonicalized, child)(f.info)
      applied.copyTagsFrom(f)
      applied
    }

  /** The keys of a broadcast build side. */
  private lazy val broadcast: Option[Either[Reason, BroadcastKeys]] = (f.sourceKey, f.source) match {
    case (SourceKey.Broadcast(index, keys), b: BroadcastQueryStageExec) if b.isMaterialized =>
      Some(BroadcastKeys.of(b, index, keys, conf))
    case _ => None
  }

  private def facts: Either[Reason, KeyFacts] = (f.sourceKey, f.source) match {
    case _ if broadcast.isDefined =>
      // Reading the keys takes a while, and their number may say it all.
      for (keys <- broadcast.get; _ <- keys.distinct.flatMap(useless).toLeft(())) yield keys.facts
    case (SourceKey.Bound(key, _), b: BroadcastQueryStageExec) if b.isMaterialized =>
      BroadcastKeys.range(b, key, conf)
    case (SourceKey.Shuffle(key), s: ShuffleQueryStageExec) if s.isMaterialized => summarized(key, s)
    case (SourceKey.Bound(key, _), s: ShuffleQueryStageExec) if s.isMaterialized => summarized(key, s)
    case _ => Left(Reason.noSummary)
  }

  private def summarized(key: BuildKey, s: ShuffleQueryStageExec): Either[Reason, KeyFacts] = {
    val summary = ResolveRuntimeFilters.summaryOf(s)
    val found = summary.flatMap(n => n.indexOf(key).map(n.summary -> _))
    found.toRight(Reason.noSummary).flatMap { case (sum, i) =>
      val partitions = s.shuffle.numMappers
      Either.cond(sum.partitions == partitions, sum.key(i), Reason.incomplete(sum.partitions, partitions))
    }
  }

  private def useless(keys: Long): Option[Reason] =
    f.info.domain
      .map(d => math.min(1.0, keys / math.max(1.0, d)))
      .filter(_ > 1 - f.info.minRejection && !forced)
      .map { kept =>
        record.buildKeys = Some(keys)
        record.observedKept = Some(kept)
        Reason.notSelective(kept)
      }

  /** Distinct keys; of a broadcast too large to be listed at most its rows. */
  private def distinct(k: KeyFacts): Option[Double] =
    k.distinct.orElse(broadcast.flatMap(_.toOption).map(_.rows.toDouble))

  /** The filter as a predicate on the scan's column, if the scan can skip something by it. */
  private def push(how: PartialFunction[(SparkPlan, Attribute), Option[Pushed]]): Option[Pushed] = for {
    a <- FilterKey.column(f.key)
    scan <- f.child.collectLeaves().headOption
    pushed <- how.applyOrElse((scan, a), (_: (SparkPlan, Attribute)) => None)
  } yield {
    record.rowGroups = pushed.rowGroups
    pushed
  }

  /** The bound of a comparison: to the scan and, as it costs next to nothing, row by row. */
  private def bounded(c: Comparison, k: KeyFacts): (Option[Pushed], Either[Reason, RowTest]) =
    k.range.map { case (low, high) => if (c.below) high else low } match {
      case None => (None, Right(nothing))
      case Some(bound) =>
        val predicate = KeyPredicates.literal(bound, f.key.dataType).map(c.predicate(f.key, _))
        val expected = record.kept.getOrElse(FilterCost.unknownKept)
        val row = predicate.toRight(Reason.noSummary).flatMap { p =>
          if (!types("MINMAX")) Left(Reason.typesOff)
          else if (forced || FilterCost.pays(expected, saved(k), FilterCost.compare))
            Right(RowTest(c.kind, p))
          else Left(saves(k, expected, FilterCost.compare))
        }
        val pushed =
          if (!types("MINMAX")) None
          else
            push {
              case (s: FileSourceScanExec, a) =>
                new ScanPruning(s, a, f.key.dataType, conf).bound(c, bound, forced)
              case (s: BatchScanExec, a) if f.info.pushable => ConnectorPruning.bound(s, a, c, bound)
            }
        (pushed, row)
    }

  // ---- row by row

  /** The bloom filter, None if no key can match. */
  private def rowLevel(k: KeyFacts): Either[Reason, Option[SplitBlockBloom]] = {
    val kept = for (n <- distinct(k); d <- f.info.domain) yield math.min(1.0, n / math.max(1.0, d))
    record.observedKept = kept
    val expected = record.kept.getOrElse(FilterCost.unknownKept)
    if (forced) forcedTest(k)
    else if (expected > 1 - f.info.minRejection) Left(Reason.notSelective(expected))
    else if (k.values != null && k.values.isEmpty)
      Either.cond(FilterCost.pays(0, saved(k), 1), None, saves(k, 0, 1))
    else if (!types("BLOOM")) Left(Reason.typesOff)
    else
      bloomBytes(k).flatMap { bytes =>
        val test = FilterCost.test(bytes)
        val rate = SplitBlockBloom.falsePositiveRate(distinct(k).getOrElse(0.0), bytes)
        val stays = expected + (1 - expected) * rate
        if (stays > 1 - f.info.minRejection) Left(Reason.bloomFull(rate))
        else if (!FilterCost.pays(stays, saved(k), test)) Left(saves(k, stays, test))
        else {
          record.bytes = Some(bytes)
          record.falsePositiveRate = Some(rate)
          Right(Some(bloom(k, bytes)))
        }
      }
  }

  /** The filter whatever it is worth. */
  private def forcedTest(k: KeyFacts): Either[Reason, Option[SplitBlockBloom]] =
    if (k.values != null && k.values.isEmpty) Right(None)
    else if (!types("BLOOM")) Left(Reason.typesOff)
    else bloomBytes(k).map(bytes => Some(bloom(k, bytes)))

  private def test(b: Option[SplitBlockBloom]): RowTest = b.fold(nothing) { bloom =>
    RowTest("bloom", BloomContains(f.key, SparkSession.active.sparkContext.broadcast(bloom)))
  }

  private def saves(k: KeyFacts, kept: Double, test: Double): Reason =
    Reason.noShuffleSaved((1 - kept) * saved(k), test)

  /** Time in ns that a removed row saves, now that the build side is known. */
  private def saved(k: KeyFacts): Double = f.info.savedNs + (f.sourceKey match {
    case _: SourceKey.Broadcast => FilterCost.lookupMiss(distinct(k).getOrElse(0.0))
    case _ => 0.0
  })

  /** Size in bytes of the bloom filter, before it is made. */
  private def bloomBytes(k: KeyFacts): Either[Reason, Long] =
    if (k.values != null) Right(SplitBlockBloom.bytesFor(k.values.size.toDouble, conf, rateShare = 0.25))
    else
      Option(k.bloom)
        .map(_.bytes)
        .orElse(broadcast.flatMap(_.toOption).map(_.bloomBytes))
        .toRight(Reason.noBloom)

  private def bloom(k: KeyFacts, bytes: Long): SplitBlockBloom =
    if (k.values == null) Option(k.bloom).getOrElse(broadcast.get.toOption.get.bloom)
    else {
      val b = SplitBlockBloom.ofBytes(bytes)
      k.values.forEach(v => b.put(KeyType.hash(v, k.dataType)))
      b
    }
}

private object FilterDecision {

  /** What became of a filter: what the scan does, and what is tested row by row; neither if it was declined. */
  final case class Outcome(pushed: Option[Pushed], row: Option[RowTest])

  final case class RowTest(kind: String, predicate: Expression)

  /** No row has a match. */
  val nothing: RowTest = RowTest("false", Literal.FalseLiteral)
}

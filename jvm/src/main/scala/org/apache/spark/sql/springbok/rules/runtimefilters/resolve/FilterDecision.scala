package org.apache.spark.sql.springbok.rules.runtimefilters.resolve

import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.springbok.{
  AppliedRuntimeFilterExec,
  BroadcastKeys,
  RuntimeFilterExec,
  SummarizeKeysExec
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterType}
import org.apache.spark.sql.springbok.cost.{ChoicePolicy, FilterCost}
import org.apache.spark.sql.springbok.keys.{
  BitmapContains,
  BloomContains,
  BuildKey,
  Comparison,
  FilterKey,
  KeyBitmap,
  KeyFacts,
  KeyPredicates,
  KeyType,
  Shipped,
  SourceKey,
  SplitBlockBloom
}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{BuildFacts, FilterEffect}

/** The decision about one filter. */
final private[springbok] class FilterDecision(f: RuntimeFilterExec, conf: SQLConf) {
  import FilterDecision._
  private val record = f.info.record
  private var found = BuildFacts.unknown
  private var effect = FilterEffect.none
  private val policy = ChoicePolicy.of(conf)
  private val types = conf.getConf(FilterConf.TYPES).toSet

  /** Made whatever it is worth: the query asks for it, or a test. */
  private val forced = f.info.wanted || policy.ignoresCost

  /** The filter decided; a copy of it elsewhere in the plan, with the same build side, shares the decision. */
  def resolved: SparkPlan = {
    val exchange = SummarizeKeysExec.exchangeOf(f.source)
    val outcome = record.recall(exchange) match {
      case Some(o: Outcome) => o
      case _ =>
        found = found.copy(waitedMs = SummarizeKeysExec.summaryOf(exchange).flatMap(_.runningMs))
        val o = decide()
        record.remember(exchange, o)
        o
    }
    rewritten(outcome)
  }

  /** The filter of a scan that has started already, to be tested row by row. */
  def late: Option[SplitBlockBloom] = {
    val test = counted.flatMap(k => rowLevel(k, bitmaps = false).map(k -> _))
    test match {
      case Left(why) => record.decline(why, found)
      case Right(_) => record.use(Seq("late", "bloom"), found, effect)
    }
    test.toOption.map { case (k, set) => set.fold(SplitBlockBloom.ofBytes(32))(s => bloom(k, s.bytes)) }
  }

  /** What the build side has, also for the report. */
  private def counted: Either[Reason, KeyFacts] = {
    for (k <- facts) found = found.copy(rows = Some(k.rows), keys = distinct.map(_.round))
    facts
  }

  private def decide(): Outcome = counted match {
    case Left(why) =>
      record.decline(why, found)
      Outcome(None, None)
    case Right(k) =>
      val (pushed, row) = f.sourceKey match {
        case SourceKey.Bound(_, comparison) => bounded(comparison, k)
        case _ =>
          val pushed = push {
            case (s: FileSourceScanExec, a) => new ScanPruning(s, a, f.key.dataType, conf).of(k, forced)
            case (c: BatchScanExec, a) if f.info.pushable => ConnectorPruning.of(c, a, k, conf)
          }
          (pushed, rowLevel(k, bitmaps = true).map(test(k, _)))
      }
      val kinds = (pushed.toSeq.flatMap(_.kinds) ++ row.toOption.map(_.kind)).distinct
      if (kinds.isEmpty) record.decline(row.swap.getOrElse(Reason.typesOff), found)
      else record.use(kinds, found, effect)
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

  private def broadcastKeys: Option[BroadcastKeys] = broadcast.flatMap(_.toOption)

  private lazy val facts: Either[Reason, KeyFacts] = (f.sourceKey, f.source) match {
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
    val summary = SummarizeKeysExec.summaryOf(s)
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
        found = found.copy(keys = Some(keys), retained = Some(kept))
        Reason.notSelective(kept)
      }

  /**
   * Distinct keys; of a broadcast too large to be listed at most its rows. Counted once: a bloom filter has many bits.
   */
  private lazy val distinct: Option[Double] =
    facts.toOption.flatMap(_.distinct).orElse(broadcastKeys.map(_.rows.toDouble))

  /** The filter as a predicate on the scan's column, if the scan can skip something by it. */
  private def push(how: PartialFunction[(SparkPlan, Attribute), Option[Pushed]]): Option[Pushed] = for {
    scan <- f.child.collectLeaves().headOption
    a <- FilterKey.column(f.key, scan)
    pushed <- how.applyOrElse((scan, a), (_: (SparkPlan, Attribute)) => None)
  } yield {
    effect = effect.copy(rowGroups = pushed.rowGroups)
    pushed
  }

  /** The bound of a comparison: to the scan and, as it costs next to nothing, row by row. */
  private def bounded(c: Comparison, k: KeyFacts): (Option[Pushed], Either[Reason, RowTest]) =
    k.range.map { case (low, high) => if (c.below) high else low } match {
      case None => (None, Right(nothing))
      case Some(bound) =>
        val predicate = KeyPredicates.literal(bound, f.key.dataType).map(c.predicate(f.key, _))
        val expected = record.expectedRetained.getOrElse(FilterCost.unknownKept)
        val row = predicate.toRight(Reason.noSummary).flatMap { p =>
          if (!types(FilterType.MinMax)) Left(Reason.typesOff)
          else if (forced || FilterCost.pays(expected, saved(k), FilterCost.compare))
            Right(RowTest(c.kind, p))
          else Left(saves(k, expected, FilterCost.compare))
        }
        val pushed =
          if (!types(FilterType.MinMax)) None
          else
            push {
              case (s: FileSourceScanExec, a) =>
                new ScanPruning(s, a, f.key.dataType, conf).bound(c, bound, forced)
              case (s: BatchScanExec, a) if f.info.pushable => ConnectorPruning.bound(s, a, c, bound)
            }
        (pushed, row)
    }

  // ---- row by row

  /** What the keys are kept in, None if no key can match. */
  private def rowLevel(k: KeyFacts, bitmaps: Boolean): Either[Reason, Option[KeySet]] = {
    val kept = for (n <- distinct; d <- f.info.domain) yield math.min(1.0, n / math.max(1.0, d))
    found = found.copy(retained = kept)
    val expected = kept.orElse(record.expectedRetained).getOrElse(FilterCost.unknownKept)
    if (k.values != null && k.values.isEmpty)
      Either.cond(forced || FilterCost.pays(0, saved(k), 1), None, saves(k, 0, 1))
    else if (expected > 1 - f.info.minRejection && !forced) Left(Reason.notSelective(expected))
    else
      keySet(k, bitmaps).flatMap { set =>
        val stays = expected + (1 - expected) * set.falsePositives
        if (stays > 1 - f.info.minRejection && !forced) Left(Reason.bloomFull(set.falsePositives))
        else if (!forced && !FilterCost.pays(stays, saved(k), set.testNs)) Left(saves(k, stays, set.testNs))
        else {
          effect = effect.copy(bytes = Some(set.bytes), falsePositiveRate = Some(set.falsePositives))
          Right(Some(set))
        }
      }
  }

  /** A bitmap, which is tested faster, where it takes no more than the bloom filter, or little. */
  private def keySet(k: KeyFacts, bitmaps: Boolean): Either[Reason, KeySet] = {
    val bloom =
      if (!types(FilterType.Bloom)) Left(Reason.typesOff)
      else
        bloomBytes(k).map { bytes =>
          val rate = SplitBlockBloom.falsePositiveRate(distinct.getOrElse(0.0), bytes)
          KeySet(None, bytes, rate, FilterCost.test(bytes))
        }
    val most = math.max(smallBitmap, bloom.fold(_ => 0L, _.bytes))
    val bitmap =
      if (!bitmaps || !types(FilterType.In) || !policy.allowsBitmap(record.join)) None
      else
        for {
          (low, high) <- whole(k)
          bytes <- KeyBitmap.bytes(low, high) if bytes <= most
        } yield KeySet(Some((low, high)), bytes, 0, FilterCost.testBitmap(bytes))
    bitmap.fold(bloom)(Right(_))
  }

  /** The range of whole-number keys that are all at hand. */
  private def whole(k: KeyFacts): Option[(Long, Long)] =
    k.range.filter(_ => k.values != null || broadcastKeys.isDefined).collect {
      case (low: Long, high: Long) if KeyType.isLong(k.dataType) => (low, high)
    }

  private def test(k: KeyFacts, set: Option[KeySet]): RowTest = set.fold(nothing) { s =>
    val sc = SparkSession.active.sparkContext
    s.bitmap match {
      case Some((low, high)) =>
        RowTest("bitmap", BitmapContains(f.key, Shipped.of(sc, bitmap(k, low, high), s.bytes)))
      case None => RowTest("bloom", BloomContains(f.key, Shipped.of(sc, bloom(k, s.bytes), s.bytes)))
    }
  }

  private def saves(k: KeyFacts, kept: Double, test: Double): Reason =
    Reason.noShuffleSaved((1 - kept) * saved(k), test)

  /** Time in ns that a removed row saves, now that the build side is known. */
  private def saved(k: KeyFacts): Double =
    broadcastKeys.fold(f.info.saving)(b => f.info.saving.copy(joinNs = b.lookupNs(k.range))).ns

  /** Size in bytes of the bloom filter, before it is made. */
  private def bloomBytes(k: KeyFacts): Either[Reason, Long] =
    if (k.values != null) Right(SplitBlockBloom.bytesFor(k.values.size.toDouble, conf, rateShare = 0.25))
    else
      Option(k.bloom)
        .map(b => distinct.fold(b.bytes)(SplitBlockBloom.cheapest(b.bytes, _, saved(k))))
        .orElse(broadcastKeys.map(_.bloomBytes))
        .toRight(Reason.noBloom)

  private def bloom(k: KeyFacts, bytes: Long): SplitBlockBloom =
    if (k.values == null) Option(k.bloom).fold(broadcastKeys.get.bloom)(_.foldedTo(bytes))
    else {
      val b = SplitBlockBloom.ofBytes(bytes)
      k.values.forEach(v => b.put(KeyType.hash(v, k.dataType)))
      b
    }

  private def bitmap(k: KeyFacts, low: Long, high: Long): KeyBitmap =
    if (k.values == null) broadcastKeys.get.bitmap(low, high)
    else {
      val b = KeyBitmap.over(low, high)
      k.values.forEach(v => b.put(v.asInstanceOf[Number].longValue))
      b
    }
}

private[springbok] object FilterDecision {

  /** What became of a filter: what the scan does, and what is tested row by row; neither if it was declined. */
  final case class Outcome(pushed: Option[Pushed], row: Option[RowTest])

  /**
   * How the keys of a test are kept.
   *
   * @param bitmap
   *   the range of a bitmap, None for a bloom filter
   * @param falsePositives
   *   part of foreign keys that pass
   * @param testNs
   *   time in ns of a test
   */
  final case class KeySet(
      bitmap: Option[(Long, Long)],
      bytes: Long,
      falsePositives: Double,
      testNs: Double
  )

  /** Bytes of a bitmap that is taken however few keys it has: 8 million values. */
  val smallBitmap: Long = 1L << 20

  final case class RowTest(kind: String, predicate: Expression)

  /** No row has a match. */
  val nothing: RowTest = RowTest("false", Literal.FalseLiteral)
}

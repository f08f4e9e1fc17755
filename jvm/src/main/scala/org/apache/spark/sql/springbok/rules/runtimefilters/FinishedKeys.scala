package org.apache.spark.sql.springbok.rules.runtimefilters

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{
  BroadcastQueryStageExec,
  ExchangeQueryStageExec,
  ShuffleQueryStageExec
}
import org.apache.spark.sql.execution.springbok.{BroadcastKeys, SummarizeKeysExec}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.cost.FilterCost
import org.apache.spark.sql.springbok.keys.{
  BuildKey,
  KeyBitmap,
  KeyFacts,
  KeyType,
  SourceKey,
  SplitBlockBloom
}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.BuildFacts

/**
 * The keys of a filter's build side, which has finished.
 *
 * @param broadcast
 *   the keys as the driver can read them again, if the build side is a broadcast
 */
final private[springbok] class FinishedKeys(val facts: KeyFacts, broadcast: Option[BroadcastKeys]) {

  /** The number of distinct keys. Counted once, because a bloom filter has many bits. */
  lazy val distinct: Option[Double] = facts.distinct.orElse(broadcast.map(_.counted))

  /** The fraction of the probe side's rows that match, if its key takes so many values. */
  def retained(domain: Option[Double]): Option[Double] =
    for (n <- distinct; d <- domain) yield FinishedKeys.fraction(n, d)

  /** Whether all keys are listed, and there are none. */
  def isEmpty: Boolean = facts.values != null && facts.values.isEmpty

  /** What a removed row saves, now that the broadcast is known. */
  def saving(estimated: FilterCost.Saving): FilterCost.Saving =
    broadcast.fold(estimated)(b => estimated.copy(joinNs = b.lookupNs(facts.range)))

  /** The range of integral keys, if each key is at hand. */
  def integralRange: Option[(Long, Long)] =
    facts.range.filter(_ => facts.values != null || broadcast.isDefined && facts.bloom == null).collect {
      case (low: Long, high: Long) if KeyType.isLong(facts.dataType) => (low, high)
    }

  /** The size in bytes of the bloom filter, before it is built. */
  def bloomBytes(savedNs: Double, conf: SQLConf): Either[Reason, Long] =
    if (facts.values != null)
      Right(SplitBlockBloom.bytesFor(facts.values.size.toDouble, conf, rateShare = 0.25))
    else
      Option(facts.bloom)
        .map(b => distinct.fold(b.bytes)(SplitBlockBloom.cheapest(b.bytes, _, savedNs)))
        .orElse(broadcast.map(_.bloomBytes))
        .toRight(Reason.noBloom)

  def bloom(bytes: Long): SplitBlockBloom =
    if (facts.values == null) Option(facts.bloom).fold(broadcast.get.bloom)(_.foldedTo(bytes))
    else {
      val b = SplitBlockBloom.ofBytes(bytes)
      facts.values.asScala.foreach(v => b.put(KeyType.hash(v, facts.dataType)))
      b
    }

  def bitmap(low: Long, high: Long): KeyBitmap =
    if (facts.values == null) broadcast.get.bitmap(low, high)
    else {
      val b = KeyBitmap.over(low, high)
      facts.values.asScala.foreach(v => b.put(v.asInstanceOf[Number].longValue))
      b
    }
}

private[springbok] object FinishedKeys {

  /**
   * The keys that a filter is made of, or why there are none.
   *
   * @param source
   *   the stage of the build side
   */
  def read(
      key: SourceKey,
      source: SparkPlan,
      worth: FilterWorth,
      conf: SQLConf
  ): Either[Verdict.Decline, FinishedKeys] = (key, source) match {
    case (SourceKey.Broadcast(index, types, summarized), b: BroadcastQueryStageExec) if b.isMaterialized =>
      val told = summarized.flatMap(summary(_, b).toOption)
      BroadcastKeys.of(b, index, types, conf) match {
        // The driver does not read so many keys. Its tasks have.
        case Left(why) => told.map(new FinishedKeys(_, None)).toRight(Verdict.Decline(why))
        case Right(keys) =>
          // Reading the keys takes a while, and their number may be enough to decline the filter.
          for (_ <- keys.distinct.flatMap(tooMany(_, worth)).toLeft(()))
            yield new FinishedKeys(told.filter(suffices(_, keys)).getOrElse(keys.facts), Some(keys))
      }
    case (SourceKey.Shuffle(key), s: ShuffleQueryStageExec) if s.isMaterialized => unread(summary(key, s))
    case (SourceKey.Bound(key, _), s: ExchangeQueryStageExec) if s.isMaterialized => unread(summary(key, s))
    case _ => Left(Verdict.Decline(Reason.noSummary))
  }

  private def unread(facts: Either[Reason, KeyFacts]): Either[Verdict.Decline, FinishedKeys] =
    facts.map(new FinishedKeys(_, None)).left.map(Verdict.Decline(_))

  /** Without a report from every task, the summary is incomplete. */
  private def summary(key: BuildKey, s: ExchangeQueryStageExec): Either[Reason, KeyFacts] = {
    val found = SummarizeKeysExec.summaryOf(s).flatMap(n => n.indexOf(key).map(n -> _))
    found.toRight(Reason.noSummary).flatMap { case (node, i) =>
      Either.cond(
        node.isComplete,
        node.summary.key(i),
        Reason.incomplete(node.summary.partitions, node.tasks)
      )
    }
  }

  /**
   * Whether the driver would find nothing better in the broadcast than its tasks have told. Their bloom filter has the size
   * that was planned, and of few distinct keys the driver can tell the ranges that they lie in.
   */
  private def suffices(told: KeyFacts, keys: BroadcastKeys): Boolean =
    told.values != null ||
      told.bloom != null && told.bloom.bytes * 2 >= keys.bloomBytes && told.distinct.exists(
        _ > KeyFacts.listed
      )

  private def tooMany(keys: Long, worth: FilterWorth): Option[Verdict.Decline] =
    worth.filter.domain
      .map(fraction(keys.toDouble, _))
      .filter(worth.retainsTooMuch)
      .map(r => Verdict.Decline(Reason.notSelective(r), BuildFacts(keys = Some(keys), retained = Some(r))))

  private def fraction(keys: Double, domain: Double): Double = math.min(1.0, keys / math.max(1.0, domain))
}

package org.apache.spark.sql.springbok.rules.runtimefilters.resolve

import org.apache.spark.sql.catalyst.expressions.{And, Expression}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.springbok.{
  AppliedRuntimeFilterExec,
  RuntimeFilterExec,
  SummarizeKeysExec
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterType}
import org.apache.spark.sql.springbok.keys.{Comparison, SourceKey, TriedKey}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.BuildFacts
import org.apache.spark.sql.springbok.rules.runtimefilters.{
  FilterWorth,
  FinishedKeys,
  PushableKeys,
  PushedFilter,
  RowTest,
  RowTestChoice,
  Verdict
}
import org.apache.spark.sql.springbok.rules.runtimefilters.connectors.ScanConnector

/** The decision about one filter: it is chosen from the build side's keys, then built, then logged. */
final private[springbok] class FilterDecision(f: RuntimeFilterExec, conf: SQLConf) {
  import FilterDecision._
  private val record = f.filter.record
  private val worth = new FilterWorth(f.filter, f.key, conf)
  private val exchange = SummarizeKeysExec.exchangeOf(f.source)

  /** The scan with the filter applied. A copy of the filter with the same build side elsewhere in the plan shares it. */
  def resolved: SparkPlan = rewritten(record.recall(exchange) match {
    case Some(b: Built) => b
    case _ =>
      val built = decide()
      record.remember(exchange, built)
      built
  })

  private def decide(): Built = {
    val waitedMs = SummarizeKeysExec.summaryOf(exchange).flatMap(_.runningMs)
    FinishedKeys.read(f.sourceKey, f.source, worth, conf) match {
      case Left(d) => built(d.copy(found = d.found.copy(waitedMs = waitedMs)), None)
      case Right(keys) => built(choose(keys, waitedMs), Some(keys))
    }
  }

  // ---- choose

  private def choose(keys: FinishedKeys, waitedMs: Option[Long]): Verdict = {
    val found = BuildFacts(Some(keys.facts.rows), keys.distinct.map(_.round), None, waitedMs)
    f.sourceKey match {
      case SourceKey.Bound(_, c) => bounded(c, keys, found)
      case _ =>
        val pushed = push(PushableKeys.Keys(keys.facts), keys)
        val row = new RowTestChoice(worth, keys, conf).ofKeys
        verdict(pushed, row, found.copy(retained = keys.retained(f.filter.domain)))
    }
  }

  /** The bound of a comparison goes to the scan and, because it costs almost nothing, is tested row by row as well. */
  private def bounded(c: Comparison, keys: FinishedKeys, found: BuildFacts): Verdict =
    keys.facts.range.map { case (low, high) => if (c.below) high else low } match {
      case None => Verdict.Apply(Left(Reason.keysNotTaken), Some(RowTest.Nothing), found)
      case Some(bound) =>
        val pushed =
          if (!conf.getConf(FilterConf.TYPES).contains(FilterType.MinMax)) Left(Reason.typesOff)
          else push(PushableKeys.Bound(c, bound), keys)
        verdict(pushed, new RowTestChoice(worth, keys, conf).ofBound(c, bound, f.key), found)
    }

  private def verdict(
      pushed: Either[Reason, PushedFilter],
      row: Either[Reason, RowTest],
      found: BuildFacts
  ): Verdict = (pushed, row) match {
    case (Left(_), Left(why)) => Verdict.Decline(why, found)
    case _ => Verdict.Apply(pushed, row.toOption, found)
  }

  /** The filter as the scan takes it, if it can skip something by it. */
  private def push(told: PushableKeys, keys: FinishedKeys): Either[Reason, PushedFilter] =
    for {
      scan <- f.child.collectLeaves().headOption.toRight(Reason.noScanColumn)
      pushed <- ScanConnector.push(scan, f.key, told, ScanConnector.Filter.of(keys, f.key, worth, conf))
    } yield pushed

  // ---- build and log

  private def built(verdict: Verdict, keys: Option[FinishedKeys]): Built = verdict match {
    case Verdict.Decline(why, found) =>
      record.decline(why, found)
      Built(None, None)
    case a: Verdict.Apply =>
      val test =
        for (k <- keys; row <- a.row)
          yield TriedKey.passing(f.key, row.predicate(f.key, k, SparkSession.active.sparkContext))
      record.use(a.kinds, a.found, a.effect)
      Built(a.pushed.toOption, test)
  }

  private def rewritten(b: Built): SparkPlan =
    if (b.pushed.isEmpty && b.test.isEmpty) f.child
    else {
      val child = b.pushed.fold(f.child)(_.into(f.child))
      // The scan may skip some rows of a key that is not on the build side and read others.
      val whole = b.pushed.filter(_ => f.filter.grouped).map(_.predicate)
      val test = (whole ++ b.test).reduceOption(And(_, _))
      val applied =
        AppliedRuntimeFilterExec(f.sourceKey, f.key, test, f.source.canonicalized, child)(f.filter)
      applied.copyTagsFrom(f)
      applied
    }
}

private[springbok] object FilterDecision {

  /** A decided filter: what the scan skips, and what is tested row by row. Both are empty if it was declined. */
  final case class Built(pushed: Option[PushedFilter], test: Option[Expression])
}

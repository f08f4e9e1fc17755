package org.apache.spark.sql.springbok.rules.runtimefilters.place

import java.util.IdentityHashMap

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{JoinSide, LinearColumn}
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterType}
import org.apache.spark.sql.springbok.keys.{Comparison, FilterKey, SplitBlockBloom}
import org.apache.spark.sql.springbok.physical.PhysicalRows
import org.apache.spark.sql.springbok.stats.estimate.{ColumnStats, Estimate, KeyDomain, ValueRange}

/**
 * The expected effect of a filter.
 *
 * @param fraction
 *   the fraction of the application side's rows that pass
 * @param domain
 *   distinct values of the application side's key, None if unknown
 */
final private[springbok] case class Retained(fraction: Double, domain: Option[Double])

/** What statistics say about the filters of a join. Each is asked about several times: one instance serves one planning. */
final private[springbok] class FilterSelectivity(rows: PhysicalRows, conf: SQLConf) {
  private val minRejection = conf.getConf(FilterConf.MIN_REJECTION)
  private val known = new IdentityHashMap[BaseJoinExec, mutable.Map[(JoinSide, Int), Option[Retained]]]()

  /** Whether a filter is expected to remove enough of the application side, by all that is known. */
  def selects(j: BaseJoinExec, creation: JoinSide, on: FilterConjunct): Boolean =
    on.range.isEmpty && retained(j, creation, on).forall(_.fraction <= 1 - minRejection)

  /** The effect of a filter, None if nothing is known. */
  def retained(j: BaseJoinExec, creation: JoinSide, on: FilterConjunct): Option[Retained] =
    if (on.from.isDefined) computed(j, creation, on)
    else
      known
        .computeIfAbsent(j, _ => mutable.Map.empty)
        .getOrElseUpdate((creation, on.index), computed(j, creation, on))

  private def computed(j: BaseJoinExec, creation: JoinSide, on: FilterConjunct): Option[Retained] =
    for {
      made <- this.creation(j, creation, on)
      filtered <- rows.side(j, creation.other)
      effect <- on.range.fold(matched(made, filtered, on))(within(made, filtered, on, _))
    } yield effect

  /** The estimate for the rows that a filter's keys are read from. */
  def creation(j: BaseJoinExec, creation: JoinSide, on: FilterConjunct): Option[Estimate] =
    on.from.fold(rows.side(j, creation))(rows.passing)

  /** Expected distinct keys of the rows that a filter is read from, None if nothing counts the rows. */
  def keys(made: Estimate, on: FilterConjunct): Option[Double] =
    made.rows.map(n => column(made, on.creation).fold(n.value)(c => math.min(c.remaining, n.value)))

  /** The size in bytes of the bloom filter that the creation side's tasks fill, for the keys that it may have. */
  def bloomBytes(j: BaseJoinExec, creation: JoinSide, on: FilterConjunct): Long = {
    val keys = this.creation(j, creation, on).flatMap { e =>
      // A sample's number is no bound, and a filter with more keys than planned is useless.
      val most = FilterKey.only(on.creation).flatMap(e.distinct).map(_.atMost)
      e.rows.map(r => most.fold(r.bound)(math.min(_, r.bound)))
    }
    if (on.range.isDefined || !conf.getConf(FilterConf.TYPES).contains(FilterType.Bloom)) 0L
    // As with Impala, 1 MiB if nothing is known.
    else
      keys.fold(math.min(1L << 20, conf.getConf(FilterConf.BLOOM_MAX_BYTES)))(
        SplitBlockBloom.bytesFor(_, conf)
      )
  }

  /**
   * A bound is the extreme value of the creation side's rows. The values are taken to be spread evenly over their column's
   * range: the smallest of n rows is expected at 1 / (n + 1) of it.
   */
  private def within(
      made: Estimate,
      filtered: Estimate,
      on: FilterConjunct,
      c: Comparison
  ): Option[Retained] =
    for {
      n <- made.rows
      ValueRange(fromMin, fromMax) <- range(made, on.creation)
      ValueRange(toMin, toMax) <- range(filtered, on.application)
      if toMax > toMin
    } yield {
      val gap = (fromMax - fromMin) / (n.value + 1)
      val part = if (c.below) fromMax - gap - toMin else toMax - fromMin - gap
      Retained(math.max(0.0, math.min(1.0, part / (toMax - toMin))), None)
    }

  private def matched(made: Estimate, filtered: Estimate, on: FilterConjunct): Option[Retained] =
    keys(made, on).flatMap { distinct =>
      val (from, to) = (column(made, on.creation), column(filtered, on.application))
      val known = from.exists(_.ndv.isDefined) || to.exists(_.ndv.isDefined)
      // A small table of keys, of which only the rows are counted, may be the whole of a dimension or a few of many.
      val list =
        (for (x <- from; y <- to)
          yield !x.tight && !y.tight && x.ndv.getOrElse(x.table.rows) * 100 < y.ndv.getOrElse(y.table.rows))
          .getOrElse(false)
      val domain =
        if (list) None
        else if (known)
          Some(KeyDomain.of(Seq(only(on.application)), Seq(only(on.creation)), filtered, made))
        // Without distinct values, the filter retains what is left of the creation side's table.
        else from.map(_.table.rows)
      domain.map(d => Retained(math.min(1.0, distinct / math.max(1.0, d)), domain))
    }

  private def column(e: Estimate, key: Expression): Option[ColumnStats] =
    FilterKey.only(key).flatMap(e.columns.get)

  /** The range of a key; other expressions over one column are taken to have the column's. */
  private def range(e: Estimate, key: Expression): Option[ValueRange] =
    column(e, key).flatMap(_.range).map { r =>
      LinearColumn.of(key).fold(r) { l =>
        val ends = Seq(r.min, r.max).map(l.value)
        ValueRange(ends.min, ends.max)
      }
    }

  /** An expression over one column has no more values than the column. */
  private def only(key: Expression): Expression = FilterKey.only(key).getOrElse(key)
}

package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, In, Or}
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.keys.{KeyFacts, KeyPredicates, KeyType}
import org.apache.spark.sql.springbok.stats.estimate.Estimate
import org.apache.spark.sql.types.DataType

/** Keys as a condition for a source that is not Spark's own. */
private[connectors] object ListOrRanges {

  /**
   * A list of keys. One that is too long becomes several ranges, split at its widest gaps; keys that are not listed become one
   * range.
   *
   * @param longest
   *   values of the longest list that the source compares
   * @return
   *   the kind of the condition and the condition; None if there are no keys, where the row test removes every row, or if they
   *   have no range
   */
  def of(
      column: Attribute,
      k: KeyFacts,
      longest: Int,
      filter: ScanConnector.Filter
  ): Option[(String, Expression)] = {
    val predicates = new KeyPredicates(column, filter.conf)
    val values = predicates.listed(k)
    def list = values
      .filter(_.size <= math.min(longest, filter.conf.getConf(FilterConf.IN_LIMIT)))
      .map(_.flatMap(KeyPredicates.literal(_, column.dataType)))
      .collect { case fitting if fitting.nonEmpty => "in" -> (In(column, fitting): Expression) }
    def ranges = for {
      sorted <- values.flatMap(KeySpan.sorted(_, filter.keyType)) if sorted.size > 1
      spans = KeySpan.split(sorted, FilePruning.maxRanges)
      p <- KeySpan.predicate(spans, predicates)
    } yield "ranges" -> p
    if (values.exists(_.isEmpty)) None else list.orElse(ranges).orElse(predicates.bounded(k))
  }
}

/** A range of keys, as they are and as numbers. */
final private[runtimefilters] case class KeySpan(low: Any, high: Any, from: Double, to: Double)

/** Keys in a limited number of ranges. */
private[runtimefilters] object KeySpan {
  def of(low: Any, high: Any): Option[KeySpan] =
    for (from <- Estimate.number(low); to <- Estimate.number(high)) yield KeySpan(low, high, from, to)

  /** Each key as a range of its own, in order; None if they are not numbers. */
  def sorted(values: Seq[Any], keyType: DataType): Option[Seq[KeySpan]] = {
    // In the keys' own order: as floating-point numbers, neighbours may be equal.
    val ordered: Seq[Any] =
      if (KeyType.isLong(keyType)) values.map(_.asInstanceOf[Long]).toArray.sorted.toSeq
      else values.sorted(TypeUtils.getInterpretedOrdering(keyType))
    val spans = ordered.flatMap(v => of(v, v))
    Option.when(spans.nonEmpty && spans.size == values.size)(spans)
  }

  /** Whether no integer lies between two keys. */
  private def adjacent(a: KeySpan, b: KeySpan): Boolean = (a.high, b.low) match {
    case (below: Long, above: Long) => above - below == 1
    case _ => false
  }

  /** That a value lies in one of the ranges; None if the column's type holds none of their ends. */
  def predicate(spans: Seq[KeySpan], on: KeyPredicates): Option[Expression] =
    spans.flatMap(s => on.between(s.low, s.high)).reduceOption(Or(_, _))

  /** Sorted keys in so many ranges, split at the widest gaps. */
  def split(sorted: Seq[KeySpan], ranges: Int): Seq[KeySpan] =
    if (sorted.isEmpty) Nil
    else {
      val keys = sorted.toIndexedSeq
      val gaps = keys.indices
        .drop(1)
        .filterNot(i => adjacent(keys(i - 1), keys(i)))
        .sortBy(i => keys(i - 1).to - keys(i).from)
        .take(ranges - 1)
      val starts = (0 +: gaps.sorted) :+ keys.size
      starts.zip(starts.tail).map { case (i, j) =>
        KeySpan(keys(i).low, keys(j - 1).high, keys(i).from, keys(j - 1).to)
      }
    }
}

package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.springbok.keys.KeyType
import org.apache.spark.sql.springbok.stats.estimate.Estimate
import org.apache.spark.sql.types.DataType

/** A range of keys, as they are and as numbers. */
final private[connectors] case class KeySpan(low: Any, high: Any, from: Double, to: Double)

/** Keys in a limited number of ranges. */
private[connectors] object KeySpan {
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

  /** Sorted keys in so many ranges, split at the widest gaps. */
  def split(sorted: Seq[KeySpan], ranges: Int): Seq[KeySpan] =
    if (sorted.isEmpty) Nil
    else {
      val keys = sorted.toIndexedSeq
      val gaps = keys.indices.drop(1).sortBy(i => keys(i - 1).to - keys(i).from).take(ranges - 1)
      val starts = (0 +: gaps.sorted) :+ keys.size
      starts.zip(starts.tail).map { case (i, j) =>
        KeySpan(keys(i).low, keys(j - 1).high, keys(i).from, keys(j - 1).to)
      }
    }
}

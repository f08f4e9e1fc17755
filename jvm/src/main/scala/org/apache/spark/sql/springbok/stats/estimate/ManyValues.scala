package org.apache.spark.sql.springbok.stats.estimate

import org.apache.spark.sql.catalyst.expressions._

/**
 * There are too many values for a dictionary.
 *
 * @param distinct
 *   distinct values of a row group, at least
 * @param mostOfOne
 *   largest fraction of the rows that may have the same value, as far as is known
 */
final case class ManyValues(distinct: Double, mostOfOne: Double) extends ColumnValues {
  override def atMost: Option[Int] = None

  override def selectivity(
      predicate: Expression,
      column: Attribute,
      rows: Double,
      nulls: Option[Double]
  ): Option[Selectivity] = {
    def part(fraction: Double) = math.min(1.0, fraction) * (1 - nulls.getOrElse(0.0))
    // A longer list may hold all values that there are.
    listed(predicate).filter(_ < distinct).map(n => Selectivity(part(n / distinct), part(n * mostOfOne)))
  }

  /** Number of values of which a row must have one. Spark adds that it must not be null. */
  private def listed(e: Expression): Option[Int] = e match {
    case And(IsNotNull(_: Attribute), other) => listed(other)
    case And(other, IsNotNull(_: Attribute)) => listed(other)
    case EqualTo(_: Attribute, v) if v.foldable => Some(1)
    case EqualTo(v, _: Attribute) if v.foldable => Some(1)
    case In(_: Attribute, list) if list.forall(_.foldable) => Some(list.size)
    case InSet(_: Attribute, set) => Some(set.size)
    case _ => None
  }
}

package org.apache.spark.sql.springbok.stats.estimate

import org.apache.spark.sql.catalyst.expressions._

/**
 * There are too many values to list, or they are of different frequency.
 *
 * @param distinct
 *   distinct values of a row group, at least
 * @param mostOfOne
 *   largest fraction of the rows that may have the same value, as far as the encoding tells
 * @param samples
 *   rows of the row groups that were read; empty if they are too large for that
 * @param whole
 *   whether there are no other row groups
 */
final case class ManyValues(
    distinct: Double,
    mostOfOne: Double,
    samples: Seq[SampledRows] = Nil,
    whole: Boolean = false
) extends ColumnValues {
  import ManyValues._

  override def atMost: Option[Int] = None

  /** The predicate is evaluated for the samples. Without them, only one that lists values has a selectivity. */
  override def selectivity(
      predicate: Expression,
      column: Attribute,
      rows: Double,
      nulls: Option[Double]
  ): Option[Selectivity] = {
    val notNull = 1 - nulls.getOrElse(0.0)
    // A longer list may hold all values that there are.
    val values = listed(predicate).filter(_ < distinct)
    val evaluated =
      if (samples.isEmpty) None
      else EvaluatedPredicate.of(predicate, column, samples.map(_.values), nulls)
    evaluated
      .map(ofSamples(_, values, notNull))
      .orElse(values.map(n => Selectivity(part(n / distinct, notNull), part(n * mostOfOne, notNull))))
  }

  private def ofSamples(e: EvaluatedPredicate, values: Option[Int], notNull: Double): Selectivity = {
    val seen = mean(e.found)(_.expectedFraction(_))
    // A sample overlooks rare values. Each of them has its share of the rows at most.
    val rare = values.map(_ / distinct).filter(_ => e.found.map(_.matching).sum < SampledRows.frequent)
    val bound = mean(e.found)(_.upperBound(_)) * (if (whole) 1 else ColumnValues.skew)
    val ofNull = if (e.holdsForNull) 1 - notNull else 0.0
    val expected = part(rare.fold(seen)(math.min(_, seen)), notNull) + ofNull
    Selectivity(expected, math.max(expected, part(bound, notNull) + ofNull))
  }

  /** The mean over all rows, by what is said of each sample. */
  private def mean(found: Seq[Matches])(fraction: (SampledRows, Matches) => Double): Double =
    samples.zip(found).map { case (s, m) => s.rows * fraction(s, m) }.sum /
      math.max(1.0, samples.map(_.rows).sum)
}

object ManyValues {

  private def part(fraction: Double, notNull: Double): Double = math.min(1.0, fraction) * notNull

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

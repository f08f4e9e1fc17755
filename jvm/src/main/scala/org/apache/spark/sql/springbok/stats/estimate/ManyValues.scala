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

  private def complete: Boolean = whole && samples.nonEmpty && samples.forall(_.complete)

  override def atMost: Option[Int] = Option.when(complete)(samples.flatMap(_.values).toSet.size)

  /** The predicate is evaluated for the samples. Without them, only one that lists values has a selectivity. */
  override def selectivity(
      predicate: Expression,
      column: Attribute,
      rows: Double,
      nulls: Option[Double]
  ): Option[Selectivity] = {
    val there = 1 - nulls.getOrElse(0.0)
    // A longer list may hold all values that there are.
    val values = listed(predicate).filter(_ < distinct)
    val tried =
      if (samples.isEmpty) None
      else TriedValues.of(predicate, column, samples.map(_.values)).filter(t => nulls.isDefined || !t.ofNull)
    tried
      .map(t => ofSamples(t, values, there))
      .orElse(values.map(n => Selectivity(part(n / distinct, there), part(n * mostOfOne, there))))
  }

  private def ofSamples(tried: TriedValues, values: Option[Int], there: Double): Selectivity = {
    val found = samples.zip(tried.matching)
    val seen = mean(found.map { case (s, n) => s -> s.fraction(n) })
    // A sample overlooks rare values. There are so many of them that each has its share of the rows at most.
    val rare = values.map(_ / distinct).filter(_ => tried.matching.sum < frequentRows)
    val bound = mean(found.map { case (s, n) => s -> s.most(n) }) * (if (whole) 1 else ColumnValues.skew)
    val ofNull = if (tried.ofNull) 1 - there else 0.0
    val expected = part(rare.fold(seen)(math.min(_, seen)), there) + ofNull
    Selectivity(expected, math.max(expected, part(bound, there) + ofNull))
  }

  /** The mean over all rows, given that of each sample. */
  private def mean(of: Seq[(SampledRows, Double)]): Double =
    of.map { case (s, f) => s.rows * f }.sum / math.max(1.0, samples.map(_.rows).sum)
}

object ManyValues {

  /** A value that so many rows of the samples have is not there by chance. */
  private val frequentRows = 3

  private def part(fraction: Double, there: Double): Double = math.min(1.0, fraction) * there

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

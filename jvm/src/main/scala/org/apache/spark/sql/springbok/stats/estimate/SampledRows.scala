package org.apache.spark.sql.springbok.stats.estimate

import org.apache.spark.unsafe.types.UTF8String

/**
 * A column's values in some rows of a row group, chosen at random.
 *
 * @param values
 *   strings in Catalyst's representation, or numbers as those of a [[ValueRange]]; without null. Those of one row group are
 *   in random order
 * @param rows
 *   rows of the row group that are not null
 */
final case class SampledRows(values: IndexedSeq[Any], rows: Double) {

  /** The expected fraction of the rows that match. If none does, it is half a row of the sample. */
  private[estimate] def expectedFraction(m: Matches): Double =
    math.max(0.5, m.matching.toDouble) / math.max(1, m.evaluated)

  /**
   * The largest fraction of the rows that may match: three standard deviations above what the sample says, and three rows of
   * it, since what none of n rows is may still be 3 of n with a probability of 5% (the rule of three).
   */
  private[estimate] def upperBound(m: Matches): Double =
    if (m.evaluated >= rows) expectedFraction(m)
    else math.min(1.0, (m.matching + 3 * math.sqrt(m.matching.toDouble) + 3) / math.max(1, m.evaluated))

  /**
   * The fraction of the numbers from `low` to `high`. A sample overlooks what is rare.
   *
   * @param even
   *   the fraction if all numbers are equally frequent
   */
  def share(low: Double, high: Double, even: Double): Double = {
    val matching = values.count { case v: Double => low <= v && v <= high; case _ => false }
    val least = SampledRows.frequent.toDouble / math.max(1, values.size)
    if (matching >= SampledRows.frequent) matching.toDouble / values.size else math.min(even, least)
  }

  /**
   * Whether both samples may be of the same distribution: a value of this one is as often below a value of the other as above
   * it (the Mann-Whitney test). Row groups of a table that is sorted by the column are not.
   */
  def sameDistribution(other: SampledRows): Boolean = {
    val (a, b) = (values.take(SampledRows.tested), other.values.take(SampledRows.tested))
    val above = a.map(x => b.map(SampledRows.compare(x, _)).sum).sum
    math.abs(above.toDouble) <= SampledRows.maxShift * a.size * b.size
  }
}

object SampledRows {

  /** A value that so many rows of a sample have is not there by chance. */
  private[estimate] val frequent = 3

  /** Values of a sample that are compared with those of another one. */
  private val tested = 200

  /** Two samples of the same distribution with so many values differ by a third of this. */
  private val maxShift = 0.2

  private def compare(x: Any, y: Any): Int = (x, y) match {
    case (a: UTF8String, b: UTF8String) => Integer.signum(a.compareTo(b))
    case (a: Double, b: Double) => java.lang.Double.compare(a, b)
    case _ => 0
  }
}

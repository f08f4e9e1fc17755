package org.apache.spark.sql.springbok.stats.estimate

import org.apache.spark.unsafe.types.UTF8String

/**
 * A column's values in some rows of a row group, chosen at random.
 *
 * @param values
 *   in Catalyst's representation, without null and in random order
 * @param rows
 *   rows of the row group that are not null
 */
final case class SampledRows(values: IndexedSeq[Any], rows: Double) {

  /** Whether these are all rows. */
  def complete: Boolean = values.size >= rows

  /** The expected fraction of the rows that match, if so many of the sample do. None counts as half a row. */
  def fraction(matching: Double): Double = math.max(0.5, matching) / math.max(1, values.size)

  /**
   * The largest fraction of the rows that may match: three standard deviations above what the sample says, and three rows of
   * it, since what none of n rows is may still be 3 of n with a probability of 5% (the rule of three).
   */
  def most(matching: Double): Double =
    if (complete) fraction(matching)
    else math.min(1.0, (matching + 3 * math.sqrt(matching) + 3) / math.max(1, values.size))

  /**
   * Whether both samples may be of the same distribution: a value of this one is as often below a value of the other as above
   * it (the Mann-Whitney test). Row groups of a table that is sorted by the column are not alike.
   */
  def alike(other: SampledRows): Boolean = {
    val (a, b) = (tested, other.tested)
    val above = a.map(x => b.map(x.compareTo(_).sign).sum).sum
    math.abs(above.toDouble) <= SampledRows.leaning * a.size * b.size
  }

  private def tested: Seq[UTF8String] =
    values.take(SampledRows.tested).collect { case t: UTF8String => t }
}

object SampledRows {

  /** Values of a sample that are compared with those of another one. */
  private val tested = 200

  /** Two samples of the same distribution with so many values differ by a third of this. */
  private val leaning = 0.2
}

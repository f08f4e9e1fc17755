package org.apache.spark.sql.springbok.stats.estimate

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.springbok.catalyst.CannotRaise
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

/**
 * A predicate that was evaluated for values of its only column.
 *
 * @param found
 *   how many values of each list match
 * @param holdsForNull
 *   whether null matches
 */
final private[estimate] case class EvaluatedPredicate(found: Seq[Matches], holdsForNull: Boolean)

/** So many of the values for which a predicate was evaluated match. */
final private[estimate] case class Matches(matching: Int, evaluated: Int)

private[estimate] object EvaluatedPredicate {

  /** Most expressions that are evaluated for one predicate. */
  private val mostSteps = 1000000L

  /**
   * None if the predicate might raise an error or gives another answer each time, if the column is no string, or if null
   * matches and nobody knows how many there are.
   *
   * @param nulls
   *   fraction of the rows where the column is null, None if unknown
   */
  def of(
      predicate: Expression,
      column: Attribute,
      values: Seq[IndexedSeq[Any]],
      nulls: Option[Double]
  ): Option[EvaluatedPredicate] =
    evaluated(predicate, column, values).filter(e => nulls.isDefined || !e.holdsForNull)

  private def evaluated(
      predicate: Expression,
      column: Attribute,
      values: Seq[IndexedSeq[Any]]
  ): Option[EvaluatedPredicate] =
    if (!harmless(predicate) || !column.dataType.isInstanceOf[StringType]) None
    else
      // It cannot raise. Should it fail all the same, nothing is known.
      Try {
        val bound = BindReferences.bindReference(predicate, AttributeSeq(Seq(column)))
        def holds(value: Any): Boolean = bound.eval(InternalRow(value)) == true
        // A long list of alternatives is evaluated for a part of many values.
        val steps = predicate.collect { case e => e }.size.toLong * values.map(_.size.toLong).sum
        val step = math.max(1, (steps / mostSteps).toInt)
        val found = values.map { vs =>
          val some = vs.indices.by(step)
          Matches(some.count(i => holds(vs(i))), some.size)
        }
        EvaluatedPredicate(found, holds(null))
      }.toOption

  private def harmless(e: Expression): Boolean =
    e.deterministic && CannotRaise(e) && !SubqueryExpression.hasSubquery(e)
}

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

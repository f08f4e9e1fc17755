package org.apache.spark.sql.springbok.stats.estimate

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.springbok.catalyst.CannotRaise
import org.apache.spark.sql.types.StringType

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

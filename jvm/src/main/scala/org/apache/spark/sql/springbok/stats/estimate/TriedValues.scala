package org.apache.spark.sql.springbok.stats.estimate

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.springbok.catalyst.CannotRaise
import org.apache.spark.sql.types.StringType

/**
 * A predicate that was evaluated for values of its only column.
 *
 * @param matching
 *   of each list of values, the number for which it holds
 * @param ofNull
 *   whether it holds for null
 */
final private[estimate] case class TriedValues(matching: Seq[Double], ofNull: Boolean)

private[estimate] object TriedValues {

  /** Most expressions that are evaluated for one predicate. */
  private val mostSteps = 1000000L

  /** None if the predicate might raise an error or gives another answer each time, or the column holds no text. */
  def of(predicate: Expression, column: Attribute, values: Seq[IndexedSeq[Any]]): Option[TriedValues] =
    if (!harmless(predicate) || !column.dataType.isInstanceOf[StringType]) None
    else
      // It cannot raise. Should it fail all the same, nothing is known.
      Try {
        val bound = BindReferences.bindReference(predicate, AttributeSeq(Seq(column)))
        def holds(value: Any): Boolean = bound.eval(InternalRow(value)) == true
        // A long list of alternatives is tried on a sample of many values.
        val steps = predicate.collect { case e => e }.size.toLong * values.map(_.size.toLong).sum
        val step = math.max(1, (steps / mostSteps).toInt)
        TriedValues(values.map(matching(_, step, holds)), holds(null))
      }.toOption

  private def matching(values: IndexedSeq[Any], step: Int, holds: Any => Boolean): Double = {
    val tried = values.indices.by(step)
    tried.count(i => holds(values(i))) * values.size.toDouble / math.max(1, tried.size)
  }

  private def harmless(e: Expression): Boolean =
    e.deterministic && CannotRaise(e) && !SubqueryExpression.hasSubquery(e)
}

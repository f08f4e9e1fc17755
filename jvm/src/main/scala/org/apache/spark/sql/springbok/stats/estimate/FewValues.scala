package org.apache.spark.sql.springbok.stats.estimate

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.springbok.catalyst.CannotRaise
import org.apache.spark.sql.types.StringType

/**
 * The distinct values, without null.
 *
 * @param values
 *   in Catalyst's representation
 * @param whole
 *   whether there are no other values; otherwise no others were seen
 * @param even
 *   whether the way they are stored suggests that no value is much more frequent than the others, nor in long runs
 */
final case class FewValues(values: IndexedSeq[Any], whole: Boolean, even: Boolean) extends ColumnValues {
  import FewValues._

  override def atMost: Option[Int] = Option.when(whole)(values.size)

  /**
   * Evaluates the predicate for each value and takes all values for equally frequent. None if the predicate cannot be
   * evaluated. A predicate that holds for no value that was seen counts as half a value. For the bound, an even value may
   * be ten times as frequent as on average, and each value that does not match is there at least once.
   */
  override def selectivity(
      predicate: Expression,
      column: Attribute,
      rows: Double,
      nulls: Option[Double]
  ): Option[Selectivity] =
    Option
      .when(harmless(predicate) && column.dataType.isInstanceOf[StringType]) {
        // It cannot raise. Should it fail all the same, nothing is known.
        Try {
          val bound = BindReferences.bindReference(predicate, AttributeSeq(Seq(column)))
          def holds(value: Any): Boolean = bound.eval(InternalRow(value)) == true
          // A long list of alternatives is tried on a sample of many values.
          val step =
            math.max(1, (predicate.collect { case e => e }.size.toLong * values.size / mostSteps).toInt)
          val tried = values.indices.by(step)
          val matching = tried.count(i => holds(values(i))) * values.size.toDouble / tried.size
          val ofNull = holds(null)
          Option.when(nulls.isDefined || !ofNull)(part(matching, rows, nulls.getOrElse(0.0), ofNull))
        }.toOption.flatten
      }
      .flatten

  private def part(matching: Double, rows: Double, nulls: Double, ofNull: Boolean): Selectivity = {
    val there = 1 - nulls
    val expected = there * math.max(0.5, matching) / values.size
    val others = if (whole) (values.size - matching) / math.max(1.0, rows) else 0.0
    val most = if (even) expected * skew else 1.0
    val bound = math.max(expected, math.min(most, there - others))
    val more = if (ofNull) nulls else 0.0
    Selectivity(math.min(1.0, expected + more), math.min(1.0, bound + more))
  }
}

object FewValues {

  /** How much more frequent than on average a value may be. */
  private val skew = 10.0

  /** Most expressions that are evaluated for one predicate. */
  private val mostSteps = 1000000L

  private def harmless(e: Expression): Boolean =
    e.deterministic && CannotRaise(e) && !SubqueryExpression.hasSubquery(e)
}

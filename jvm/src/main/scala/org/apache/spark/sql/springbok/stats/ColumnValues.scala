package org.apache.spark.sql.springbok.stats

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.springbok.CannotRaise
import org.apache.spark.sql.types.StringType

/**
 * The distinct values of a string column but null.
 *
 * @param values
 *   as Catalyst has them
 * @param whole
 *   whether there are no others, or merely none were seen
 * @param even
 *   whether they are stored as if none were there much more often than the others, nor in long runs
 */
final case class ColumnValues(values: IndexedSeq[Any], whole: Boolean, even: Boolean) {
  import ColumnValues._

  /**
   * The part of a table's rows for which a predicate on the column alone holds, if each value is there as often as any
   * other; None if it cannot be tried out. Of what holds for no value that was seen it may be half a value's rows. The
   * bound: of even values one may be there ten times as often as on average; no other value is there less than once.
   *
   * @param rows
   *   of the table
   * @param nulls
   *   part of them that is null, None if unknown
   */
  def share(
      predicate: Expression,
      column: Attribute,
      rows: Double,
      nulls: Option[Double]
  ): Option[Selectivity.Part] =
    Option
      .when(harmless(predicate) && column.dataType.isInstanceOf[StringType]) {
        // What cannot raise, and is of the type that the values have: whatever goes wrong all the same, nothing is known.
        Try {
          val bound = BindReferences.bindReference(predicate, AttributeSeq(Seq(column)))
          def holds(value: Any): Boolean = bound.eval(InternalRow(value)) == true
          // A long list of alternatives is tried on some of many values.
          val step =
            math.max(1, (predicate.collect { case e => e }.size.toLong * values.size / mostSteps).toInt)
          val tried = values.indices.by(step)
          val matching = tried.count(i => holds(values(i))) * values.size.toDouble / tried.size
          val ofNull = holds(null)
          Option.when(nulls.isDefined || !ofNull)(part(matching, rows, nulls.getOrElse(0.0), ofNull))
        }.toOption.flatten
      }
      .flatten

  private def part(matching: Double, rows: Double, nulls: Double, ofNull: Boolean): Selectivity.Part = {
    val there = 1 - nulls
    val expected = there * math.max(0.5, matching) / values.size
    val others = if (whole) (values.size - matching) / math.max(1.0, rows) else 0.0
    val most = if (even) expected * skew else 1.0
    val bound = math.max(expected, math.min(most, there - others))
    val more = if (ofNull) nulls else 0.0
    Selectivity.Part(math.min(1.0, expected + more), math.min(1.0, bound + more))
  }
}

object ColumnValues {

  /** How much more often than on average a value may be there. */
  private val skew = 10.0

  /** Expressions that are evaluated to try one predicate. */
  private val mostSteps = 1000000L

  private def harmless(e: Expression): Boolean =
    e.deterministic && CannotRaise(e) && !SubqueryExpression.hasSubquery(e)
}

/** The values of a column, found when they are first asked for. */
final class LazyValues(find: => Option[ColumnValues]) {
  lazy val get: Option[ColumnValues] = find
}

object LazyValues {
  val unknown = new LazyValues(None)
}

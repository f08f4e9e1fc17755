package org.apache.spark.sql.springbok.stats

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.springbok.CannotRaise

/**
 * The distinct values of a string column but null.
 *
 * @param values
 *   as Catalyst has them
 * @param whole
 *   whether there are no others, or merely none were seen
 */
final case class ColumnValues(values: IndexedSeq[Any], whole: Boolean) {

  /**
   * The part of a table's rows for which a predicate on the column alone holds, if each value is there as often as any
   * other; None if it cannot be tried out. Of what holds for no value that was seen it may be half a value's rows.
   *
   * @param rows
   *   of the table
   * @param nulls
   *   part of them that is null
   * @return
   *   (expected, bound): a value may be there ten times as often as on average, but no other is there less than once
   */
  def share(predicate: Expression, column: Attribute, rows: Double, nulls: Double): Option[(Double, Double)] =
    Option.when(ColumnValues.harmless(predicate)) {
      val test =
        Predicate.createInterpreted(BindReferences.bindReference(predicate, AttributeSeq(Seq(column))))
      def holds(value: Any): Boolean = test.eval(InternalRow(value))
      val matching = values.count(holds)
      val there = 1 - nulls
      val ofNulls = if (holds(null)) nulls else 0.0
      val expected = there * math.max(0.5, matching.toDouble) / values.size
      val others = if (whole) (values.size - matching) / math.max(1.0, rows) else 0.0
      val bound = math.max(expected, math.min(expected * ColumnValues.skew, there - others))
      (math.min(1.0, expected + ofNulls), math.min(1.0, bound + ofNulls))
    }
}

object ColumnValues {

  /** How much more often than on average a value may be there. */
  val skew = 10.0

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

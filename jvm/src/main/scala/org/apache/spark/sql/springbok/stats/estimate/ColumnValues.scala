package org.apache.spark.sql.springbok.stats.estimate

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.springbok.catalyst.CannotRaise
import org.apache.spark.sql.types.StringType

/** What is known of the distinct values of a string column. */
sealed trait ColumnValues {

  /** Distinct values that there are at most, if that is known. */
  def atMost: Option[Int]

  /**
   * The part of a table's rows for which a predicate on the column alone holds; None if that cannot be told.
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
  ): Option[Selectivity.Part]
}

/**
 * There are more than a dictionary is made of.
 *
 * @param distinct
 *   how many at least, of a row group
 * @param mostOfOne
 *   part of the rows that one value is in at most, as far as is known
 */
final case class ManyValues(distinct: Double, mostOfOne: Double) extends ColumnValues {
  override def atMost: Option[Int] = None

  override def share(
      predicate: Expression,
      column: Attribute,
      rows: Double,
      nulls: Option[Double]
  ): Option[Selectivity.Part] = {
    def part(share: Double) = math.min(1.0, share) * (1 - nulls.getOrElse(0.0))
    // A longer list may be of all that there are.
    asked(predicate).filter(_ < distinct).map(n => Selectivity.Part(part(n / distinct), part(n * mostOfOne)))
  }

  /** Values of which a row has to have one; Spark asks beside them that it is not null. */
  private def asked(e: Expression): Option[Int] = e match {
    case And(IsNotNull(_: Attribute), other) => asked(other)
    case And(other, IsNotNull(_: Attribute)) => asked(other)
    case EqualTo(_: Attribute, v) if v.foldable => Some(1)
    case EqualTo(v, _: Attribute) if v.foldable => Some(1)
    case In(_: Attribute, list) if list.forall(_.foldable) => Some(list.size)
    case InSet(_: Attribute, set) => Some(set.size)
    case _ => None
  }
}

/**
 * The distinct values but null.
 *
 * @param values
 *   as Catalyst has them
 * @param whole
 *   whether there are no others, or merely none were seen
 * @param even
 *   whether they are stored as if none were there much more often than the others, nor in long runs
 */
final case class FewValues(values: IndexedSeq[Any], whole: Boolean, even: Boolean) extends ColumnValues {
  import FewValues._

  override def atMost: Option[Int] = Option.when(whole)(values.size)

  /**
   * If each value is there as often as any other; None if the predicate cannot be tried out. Of what holds for no value
   * that was seen it may be half a value's rows. The bound: of even values one may be there ten times as often as on
   * average; no other value is there less than once.
   */
  override def share(
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

object FewValues {

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

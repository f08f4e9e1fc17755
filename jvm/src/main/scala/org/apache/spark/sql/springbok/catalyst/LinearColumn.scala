package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.RebaseDateTime
import org.apache.spark.sql.types._

/**
 * An integral or date expression that is `column + offset` or `offset - column` as long as nothing overflows.
 *
 * For a value of the column within `domain`, each step of the computation stays within its type: the expression raises no
 * error and does not wrap around, in ANSI mode or not. For other values of the column, it may raise an error or wrap around.
 * Even then, no two values of the column give the same value: so a cast to a narrower type is none of these expressions
 * without ANSI mode, nor is what becomes null.
 *
 * @param domain
 *   values of the column. Of dates, only those that every calendar and every reader of files takes for the same day are in it
 */
final case class LinearColumn(
    column: Attribute,
    negated: Boolean,
    offset: BigInt,
    domain: LinearColumn.Span
) {
  import LinearColumn._

  /** Whether the column's type has no value for which something overflows. */
  def total: Boolean = outside.isEmpty

  /** The values of the column's type for which something may overflow: at most one range at either end of the type. */
  def outside: Seq[Span] = typeSpan(column.dataType).toSeq.flatMap { all =>
    val below = Option.when(all.low < domain.low)(Span(all.low, domain.low - 1))
    val above = Option.when(all.high > domain.high)(Span(domain.high + 1, all.high))
    below ++ above
  }

  /** The value in the domain for which the expression has this value. */
  def inverse(value: Long): Option[Long] = inverse(Span(value, value)).map(_.low)

  /** The values in the domain for which the expression has one of these values. */
  def inverse(values: Span): Option[Span] = {
    val ends = Seq(solved(values.low), solved(values.high))
    domain.meet(ends.min, ends.max)
  }

  /** The value of the column in the integers, whatever its type holds. */
  def solved(value: Long): BigInt = if (negated) offset - value else BigInt(value) - offset

  /** About the expression's value for one of the column, for estimates. */
  def value(column: Double): Double = (if (negated) -column else column) + offset.toDouble

  private def plus(n: BigInt): LinearColumn = copy(offset = offset + n)
  private def negative: LinearColumn = copy(negated = !negated, offset = -offset)

  /** The same as a step that has this type: only where it does not overflow. */
  private def within(t: DataType): Option[LinearColumn] =
    typeSpan(t).flatMap(s => inverse(s)).map(d => copy(domain = d))
}

object LinearColumn {

  /** The integers from `low` to `high`. */
  final case class Span(low: Long, high: Long) {

    /** Those of them that lie in another range as well, None if there are none. */
    def meet(from: BigInt, to: BigInt): Option[Span] = {
      val (l, h) = (from.max(low), to.min(high))
      Option.when(l <= h)(Span(l.toLong, h.toLong))
    }

    def size: BigInt = BigInt(high) - low + 1

    def contains(value: Long): Boolean = low <= value && value <= high
  }

  def of(e: Expression): Option[LinearColumn] = e match {
    case a: Attribute =>
      val known = if (a.dataType == DateType) Some(sameDays) else typeSpan(a.dataType)
      known.map(LinearColumn(a, negated = false, 0, _))
    case c: Cast if converts(c) => of(c.child).flatMap(_.within(c.dataType))
    case a: Add if a.evalMode != EvalMode.TRY =>
      (a.left, a.right) match {
        case (l, Constant(n)) => of(l).flatMap(_.plus(n).within(a.dataType))
        case (Constant(n), r) => of(r).flatMap(_.plus(n).within(a.dataType))
        case _ => None
      }
    case s: Subtract if s.evalMode != EvalMode.TRY =>
      (s.left, s.right) match {
        case (l, Constant(n)) => of(l).flatMap(_.plus(-n).within(s.dataType))
        case (Constant(n), r) => of(r).flatMap(_.negative.plus(n).within(s.dataType))
        case _ => None
      }
    case m: UnaryMinus => of(m.child).flatMap(_.negative.within(m.dataType))
    case DateAdd(l, Constant(n)) => of(l).flatMap(_.plus(n).within(DateType))
    case DateAdd(Constant(n), r) => of(r).flatMap(_.plus(n).within(DateType))
    case DateSub(l, Constant(n)) => of(l).flatMap(_.plus(-n).within(DateType))
    case DateSub(Constant(n), r) => of(r).flatMap(_.negative.plus(n).within(DateType))
    case _ => None
  }

  /** The days from after the last change of the calendar to the end of the year 9999. */
  private val sameDays = Span(RebaseDateTime.lastSwitchGregorianDay + 1L, 2932896L)

  /** The integers that a type holds, None if it holds anything else. */
  def typeSpan(t: DataType): Option[Span] = t match {
    case ByteType => Some(Span(Byte.MinValue, Byte.MaxValue))
    case ShortType => Some(Span(Short.MinValue, Short.MaxValue))
    case IntegerType | DateType => Some(Span(Int.MinValue, Int.MaxValue))
    case LongType => Some(Span(Long.MinValue, Long.MaxValue))
    case _ => None
  }

  /** Whether a cast gives the same number, or raises an error. */
  private def converts(c: Cast): Boolean = (c.child.dataType, c.dataType) match {
    case (from: IntegralType, to: IntegralType) => c.evalMode == EvalMode.ANSI || Cast.canUpCast(from, to)
    case _ => false
  }

  private object Constant {
    def unapply(e: Expression): Option[BigInt] = e match {
      case Literal(n: Number, t) if typeSpan(t).isDefined => Some(BigInt(n.longValue))
      case _ => None
    }
  }
}

package org.apache.spark.sql.springbok.conjunct

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.StringUtils
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Whether an expression can be evaluated on any row whatever without an error or a side effect. A list of what is known
 * to be harmless: all else, user code above all, may raise.
 *
 * Left out on purpose: arithmetic that ANSI mode checks, casts that may not fit, array and map access, regular expressions
 * (matching may overflow the stack), whatever converts between dates and timestamps (overflow).
 */
object CannotRaise {
  def apply(e: Expression): Boolean = e match {
    case _: Attribute | _: Literal => true
    // Its value is there before the first row.
    case s: ScalarSubquery => !s.isCorrelated
    case _: BinaryComparison | _: In | _: InSet => e.children.forall(c => ordered(c.dataType)) && inside(e)
    case _: And | _: Or | _: Not | _: IsNull | _: IsNotNull | _: IsNaN | _: AtLeastNNonNulls => inside(e)
    case _: Coalesce | _: If | _: CaseWhen => inside(e)
    case _: StringPredicate | _: Upper | _: Lower | _: Length | _: Substring | _: StringTrim => inside(e)
    case Like(text, Literal(pattern, _), escape) => compiles(pattern, escape) && apply(text)
    case c: Cast => fits(c.child.dataType, c.dataType) && apply(c.child)
    case a: BinaryArithmetic => unchecked(a) && inside(a)
    case _: Year | _: Quarter | _: Month | _: DayOfMonth => inside(e)
    case _ => false
  }

  private def inside(e: Expression): Boolean = e.children.forall(apply)

  private def ordered(t: DataType): Boolean = t match {
    case _: NumericType | _: StringType | BinaryType | BooleanType | DateType | TimestampType |
        TimestampNTZType =>
      true
    case _ => false
  }

  private def compiles(pattern: Any, escape: Char): Boolean = pattern match {
    case p: UTF8String => Try(StringUtils.escapeLikeRegex(p.toString, escape)).isSuccess
    case _ => pattern == null
  }

  private def fits(from: DataType, to: DataType): Boolean = (from, to) match {
    case (_: NumericType, FloatType | DoubleType) => true
    case (_: NumericType, _: NumericType) => Cast.canUpCast(from, to)
    case _ => false
  }

  /** Floating-point arithmetic but division knows no errors, and without ANSI mode the rest of it has none either. */
  private def unchecked(a: BinaryArithmetic): Boolean = a match {
    case _: Add | _: Subtract | _: Multiply =>
      a.dataType match {
        case FloatType | DoubleType => true
        case _: NumericType => a.evalMode == EvalMode.LEGACY
        case _ => false
      }
    case _: Divide => a.evalMode == EvalMode.LEGACY && a.dataType.isInstanceOf[NumericType]
    case _ => false
  }
}

package org.apache.spark.sql.springbok.catalyst

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.catalyst.util.{CharVarcharCodegenUtils, StringUtils}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Whether an expression can be evaluated on any row without an error or a side effect. It is a list of expressions that are
 * known to be harmless. Everything else, such as user code, may raise.
 *
 * Left out on purpose: arithmetic that ANSI mode checks and whose types do not show that it cannot overflow, casts that may not fit, array and map access, regular expressions
 * (matching may overflow the stack), and conversions between dates and timestamps (overflow).
 */
object CannotRaise extends HarmlessExpressions {
  override protected def other(e: Expression): Boolean = false
}

/**
 * Whether an expression has no side effect, and whether an exception is all that it can raise: such an expression can be
 * evaluated on any row if exceptions are caught.
 *
 * Left out on purpose: regular expressions (a stack that overflows is no exception), and functions that take long.
 */
object RaisesExceptions extends HarmlessExpressions {
  override protected def other(e: Expression): Boolean = e match {
    case c: Cast => atomic(c.child.dataType) && atomic(c.dataType) && apply(c.child)
    case _: BinaryArithmetic | _: UnaryMinus | _: UnaryPositive | _: Abs => inside(e)
    case _: DateAdd | _: DateSub | _: DateDiff | _: DateAddYMInterval | _: AddMonths => inside(e)
    case _: LastDay | _: TruncDate => inside(e)
    case _ => false
  }

  private def atomic(t: DataType): Boolean = t.isInstanceOf[AtomicType] && !SparkTypes.isVariant(t)
}

/** The expressions that are harmless on any row. A subclass may allow more ([[other]]). */
sealed abstract class HarmlessExpressions {

  /** Whether an expression that may raise an error is allowed. */
  protected def other(e: Expression): Boolean

  final def apply(e: Expression): Boolean = e match {
    case _: Attribute | _: Literal => true
    // Its value is known before the first row.
    case s: ScalarSubquery => !s.isCorrelated
    case _: BinaryComparison | _: In | _: InSet => e.children.forall(c => ordered(c.dataType)) && inside(e)
    case _: And | _: Or | _: Not | _: IsNull | _: IsNotNull | _: IsNaN | _: AtLeastNNonNulls => inside(e)
    case _: Coalesce | _: If | _: CaseWhen | _: UnscaledValue => inside(e)
    case _: StringPredicate | _: Upper | _: Lower | _: Length | _: Substring => inside(e)
    case _: StringTrim | _: StringTrimLeft | _: StringTrimRight => inside(e)
    case c: Concat => c.dataType.isInstanceOf[StringType] && inside(c)
    case Like(text, Literal(pattern, _), escape) => compiles(pattern, escape) && apply(text)
    case c: Cast if fits(c) => apply(c.child)
    case a: BinaryArithmetic if unchecked(a) => inside(a)
    // The types alone show that it cannot overflow, such as that of an INT that is cast to BIGINT before 1 is added.
    case _ if LinearColumn.of(e).exists(_.total) => true
    case _: Year | _: Quarter | _: Month | _: DayOfMonth => inside(e)
    case _: GetStructField | _: CreateNamedStruct => inside(e)
    // What Spark puts around join keys, and what a filter hashes them with.
    case _: KnownFloatingPointNormalized | _: NormalizeNaNAndZero | _: KnownNotNull => inside(e)
    case _: XxHash64 => inside(e)
    case _ if SparkTypes.isCollationKey(e) => inside(e)
    // The padding that reads a CHAR column.
    case s: StaticInvoke =>
      s.staticObject == classOf[CharVarcharCodegenUtils] && s.functionName == "readSidePadding" && inside(s)
    case _ => other(e)
  }

  final protected def inside(e: Expression): Boolean = e.children.forall(apply)

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

  /** Without ANSI mode a value that does not fit becomes null or wraps, but a date outside a timestamp's range raises in any mode. */
  private def fits(c: Cast): Boolean = (c.child.dataType, c.dataType) match {
    // A variant may hold a value of any type, and raises in any mode if the value does not fit.
    case (t, _) if SparkTypes.isVariant(t) => false
    case (_: NumericType, FloatType | DoubleType) => true
    case (from: NumericType, to: NumericType) => c.evalMode != EvalMode.ANSI || Cast.canUpCast(from, to)
    case (from, to) if from == to => true
    // In any mode an interval raises if the number cannot hold it.
    case (_: AnsiIntervalType, to) => to.isInstanceOf[StringType]
    case (_: AtomicType, _: TimestampType | TimestampNTZType) => false
    case (_: AtomicType, _: NumericType | _: StringType | DateType | BooleanType) =>
      c.evalMode != EvalMode.ANSI || c.dataType.isInstanceOf[StringType]
    case _ => false
  }

  /** Floating-point arithmetic other than division never fails. Without ANSI mode, no other numeric arithmetic fails either. */
  private def unchecked(a: BinaryArithmetic): Boolean = a match {
    case _: Add | _: Subtract | _: Multiply if hasRoom(a) => true
    case _: Add | _: Subtract | _: Multiply =>
      a.dataType match {
        case FloatType | DoubleType => true
        case _: NumericType => mode(a).contains(EvalMode.LEGACY)
        case _ => false
      }
    case d: Divide if isNotZero(d.right) && hasRoom(d) => true
    case _: Divide => mode(a).contains(EvalMode.LEGACY) && a.dataType.isInstanceOf[NumericType]
    case _ => false
  }

  /** Whether a decimal can hold all digits of the result, as the product of two decimals of 7 digits; of a quotient those before the point. */
  private def hasRoom(a: BinaryArithmetic): Boolean = (a.left.dataType, a.right.dataType) match {
    case (DecimalType.Fixed(p1, s1), DecimalType.Fixed(p2, s2)) =>
      val digits = a match {
        case _: Multiply => p1 + p2 + 1
        case _: Divide => p1 - s1 + s2 + math.max(DecimalType.MINIMUM_ADJUSTED_SCALE, s1 + p2 + 1)
        case _ => math.max(s1, s2) + math.max(p1 - s1, p2 - s2) + 1
      }
      digits <= DecimalType.MAX_PRECISION
    case _ => false
  }

  private def isNotZero(e: Expression): Boolean = e match {
    case Literal(d: Decimal, _) => d.toBigDecimal.signum != 0
    case _ => false
  }

  /** The mode is protected in the common class before Spark 4.1. */
  private def mode(a: BinaryArithmetic): Option[EvalMode.Value] = a match {
    case x: Add => Some(x.evalMode)
    case x: Subtract => Some(x.evalMode)
    case x: Multiply => Some(x.evalMode)
    case x: Divide => Some(x.evalMode)
    case _ => None
  }
}

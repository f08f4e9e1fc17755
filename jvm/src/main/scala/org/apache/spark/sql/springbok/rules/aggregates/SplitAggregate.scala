package org.apache.spark.sql.springbok.rules.aggregates

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.springbok.catalyst.{CannotRaise, SparkTypes}
import org.apache.spark.sql.types._

/**
 * An aggregate function in two phases: functions of the rows below a join, and an expression over their results above it.
 *
 * @param below
 *   what is computed of the rows of a group
 * @param above
 *   the function's result, of the columns that hold the results of `below`
 * @param condition
 *   which groups of the rows below count, in columns above the join; None if all do
 */
final private[aggregates] case class SplitAggregate(
    below: Seq[AggregateExpression],
    above: Seq[Attribute] => Expression,
    condition: Option[Expression] = None
) {
  def result(columns: Seq[Attribute]): Expression = condition.fold(above(columns)) { c =>
    above(columns).transformUp { case f: AggregateFunction =>
      f.withNewChildren(f.children.map(x => CaseWhen(Seq(c -> x), None)))
    }
  }
}

/**
 * Splits the functions whose result does not depend on how the rows are grouped in between.
 *
 *   - MIN, MAX, BIT_AND, BIT_OR and BIT_XOR are associative and commutative. Values that are equal have to be the same:
 *     floating-point numbers and strings that are equal without equal bytes are left out.
 *   - COUNT is a sum of counts. Of no rows it is 0.
 *   - SUM of integers is exact: it wraps in the same way in any order, or the types show that it cannot overflow. SUM of
 *     decimals has ten more digits than its values, so it takes 10^10 rows to overflow; only then an error or a null could come
 *     from other rows. Sums of BIGINT under ANSI have as many where the footers of all files show eight digits at most.
 *   - AVG of few digits, by type or by footers, is a sum of integers in a DOUBLE, which holds all integers of 2^53: 9 * 10^8 of
 *     the largest values. It becomes the quotient of exact sums.
 *
 * A condition in a function, as that of a CASE, may have columns of the other side: it is tested above the join, for a whole group.
 * A row of the other side repeats all rows of a group, and so it does with their result. Sums of floating-point numbers depend on
 * the order of the rows, and DISTINCT, FIRST, LAST, lists, sketches and user-defined functions on more than the result of a group.
 */
private[aggregates] object SplitAggregate {

  /** A function with its phases. */
  type Split = (AggregateExpression, SplitAggregate)

  /** Most decimal digits of a column of integers, if all files tell. */
  type Digits = Attribute => Option[Int]

  def whole(e: AggregateExpression, known: Digits): Option[Split] = of(e, known).map(e -> _)

  /**
   * `sum(CASE WHEN condition THEN x END)` is `sum(CASE WHEN condition THEN sum_x END)` of the sums of `x`: all rows of a group have the
   * condition's columns in common if those are among its keys.
   */
  def conditional(e: AggregateExpression, known: Digits): Option[Split] = {
    val parts = e.aggregateFunction.children match {
      case Seq(When(c, x)) => Some(c -> x)
      case Seq(UnscaledValue(When(c, x))) => Some(c -> UnscaledValue(x))
      case _ => None
    }
    val found = for {
      (c, x) <- parts if c.deterministic
      f = e.copy(aggregateFunction =
        e.aggregateFunction.withNewChildren(Seq(x)).asInstanceOf[AggregateFunction]
      )
      s <- of(f, known)
    } yield f -> s.copy(condition = Some(c))
    found.orElse(whole(e, known))
  }

  private object When {
    def unapply(e: Expression): Option[(Expression, Expression)] = e match {
      case CaseWhen(Seq((c, x)), other) if other.forall(isNull) => Some(c -> x)
      case If(c, x, other) if isNull(other) => Some(c -> x)
      case _ => None
    }
  }

  private def isNull(e: Expression): Boolean = e match {
    case Literal(value, _) => value == null
    case _ => false
  }

  /** None if the function cannot be split. */
  def of(e: AggregateExpression, known: Digits): Option[SplitAggregate] =
    if (e.isDistinct || e.mode != Complete || !isHarmless(e)) None
    else
      e.aggregateFunction match {
        case _: Min | _: Max if isExact(e.dataType) => Some(same(e))
        case _: BitAndAgg | _: BitOrAgg | _: BitXorAgg => Some(same(e))
        case c: Count => Some(SplitAggregate(Seq(e), counts => sumOfCounts(counts.head, Literal(0L), c)))
        case s: Sum if !has(s, EvalMode.TRY) && hasRoom(s, known) =>
          Some(SplitAggregate(Seq(e), sums => sum(s, sums.head)))
        case a: Average if !has(a, EvalMode.TRY) && isShort(a.child, known) => Some(average(e, a))
        case _ => None
      }

  /**
   * The same above an outer join that adds rows without a match to the function's side. They have a null in each column, so the
   * function must skip nulls: COUNT(*) counts each of them once. None if it cannot tell.
   */
  def withUnmatched(e: AggregateExpression, s: SplitAggregate): Option[SplitAggregate] =
    e.aggregateFunction match {
      case _ if e.filter.isDefined => None
      case c @ Count(children) if children.forall(_.foldable) && !children.exists(_.nullable) =>
        Some(s.copy(above = counts => sumOfCounts(counts.head, Literal(1L), c)))
      case Count(Seq(_: Attribute)) => Some(s)
      case _: Count => None
      case f => Option.when(f.children.forall(skipsNull))(s)
    }

  /** Whether the value of an expression is null for a row of nulls. */
  private def skipsNull(e: Expression): Boolean = e match {
    case _: Attribute => true
    case u: UnscaledValue => skipsNull(u.child)
    case _ => false
  }

  private def isHarmless(e: AggregateExpression): Boolean =
    (e.aggregateFunction.children ++ e.filter).forall(c => c.deterministic && CannotRaise(c))

  /** Whether values that are equal are the same, and a hash aggregate can hold them in its buffer. */
  def isExact(t: DataType): Boolean = t match {
    case FloatType | DoubleType => false
    case s: StringType => SparkTypes.isBinaryStable(s)
    case _: NumericType | BooleanType | DateType | TimestampType | TimestampNTZType | BinaryType => true
    case _ => false
  }

  private def same(e: AggregateExpression) =
    SplitAggregate(Seq(e), values => complete(e.aggregateFunction.withNewChildren(values)))

  private def complete(f: Expression): AggregateExpression =
    f.asInstanceOf[AggregateFunction].toAggregateExpression()

  /** @param unmatched the count of a row without a match */
  private def sumOfCounts(counts: Attribute, unmatched: Literal, c: Count): Expression = {
    val each = if (unmatched.value == 0L) counts else Coalesce(Seq(counts, unmatched))
    Coalesce(Seq(complete(Sum(each)), Literal(0L, c.dataType)))
  }

  private def sum(s: Sum, sums: Attribute): Expression = {
    val all = complete(s.withNewChildren(Seq(sums)))
    if (all.dataType == s.dataType) all else Cast(all, s.dataType)
  }

  /** Spark's own quotient, of the exact sum and the count. */
  private def average(e: AggregateExpression, a: Average): SplitAggregate = {
    val long = if (a.child.dataType == LongType) a.child else Cast(a.child, LongType)
    val below = Seq(Sum(long), Count(Seq(a.child))).map(f => complete(f).copy(filter = e.filter))
    SplitAggregate(
      below,
      parts => {
        val (sum, count) = (a.aggBufferAttributes.head, a.aggBufferAttributes.last)
        a.evaluateExpression.transform {
          case x: Attribute if x.semanticEquals(sum) => Cast(complete(Sum(parts.head)), sum.dataType)
          case x: Attribute if x.semanticEquals(count) => sumOfCounts(parts(1), Literal(0L), Count(Nil))
        }
      }
    )
  }

  /** Whether a sum cannot overflow, or wraps. */
  private def hasRoom(s: Sum, known: Digits): Boolean = s.child.dataType match {
    case ByteType | ShortType | IntegerType => true
    case LongType => has(s, EvalMode.LEGACY) || digits(s.child, known).exists(_ <= 8)
    case DecimalType.Fixed(p, _) => p + 10 <= DecimalType.MAX_PRECISION
    case _ => false
  }

  private def isShort(e: Expression, known: Digits): Boolean = e.dataType match {
    case ByteType | ShortType => true
    case IntegerType | LongType => digits(e, known).exists(_ <= 7)
    case _ => false
  }

  /** Decimal digits of an integer, or of a decimal that is stored as one. */
  private def digits(e: Expression, known: Digits): Option[Int] = e match {
    case UnscaledValue(d) => Some(d.dataType).collect { case DecimalType.Fixed(p, _) => p }
    case a: Attribute => known(a)
    case _ => None
  }

  /** Whether a function does this where it overflows. Spark 4.1 has put the mode into an object of its own. */
  private def has(f: Expression, mode: EvalMode.Value): Boolean = f.productIterator.exists {
    case m if m == mode => true
    case context: scala.Product if !context.isInstanceOf[Expression] => context.productIterator.contains(mode)
    case _ => false
  }
}

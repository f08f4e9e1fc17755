package org.apache.spark.sql.springbok.stats

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/** Selectivity of conjuncts, from column ranges and distinct values, else Impala's guess. */
object Selectivity {

  /** Impala's selectivity of a conjunct of which nothing is known (`Expr.DEFAULT_SELECTIVITY`). */
  val default = 0.1

  /**
   * Selectivity of a conjunction.
   *
   * @return
   *   (expected, bound): the bound takes conjuncts of which nothing is known as 1
   */
  def of(conjuncts: Seq[Expression], columns: AttributeMap[ColumnStats]): (Double, Double) = {
    val (ranges, others) =
      conjuncts.flatMap(comparison).partition(r => columns.get(r.column).exists(_.min.isDefined))
    val compared =
      ranges.groupBy(_.column.exprId).values.map(rs => interval(rs, columns(rs.head.column))).toSeq
    val rest = conjuncts.filter(c => comparison(c).forall(others.contains))
    val each = rest.map(single(_, columns))
    val known = compared ++ each.flatten
    // All conjuncts of which nothing is known count as one.
    val guessed = if (each.contains(None)) Seq(default) else Nil
    (combine(known ++ guessed), combine(known))
  }

  /** Impala's `PlanNode.computeCombinedSelectivity`: ascending, the i-th counts with its i-th root. */
  def combine(selectivities: Seq[Double]): Double =
    selectivities.sorted.zipWithIndex.map { case (s, i) => math.pow(s, 1.0 / (i + 1)) }.product

  final private case class Comparison(column: Attribute, low: Option[Double], high: Option[Double])

  private def comparison(e: Expression): Option[Comparison] = e match {
    case GreaterThan(a: Attribute, Number(v)) => Some(Comparison(a, Some(v), None))
    case GreaterThanOrEqual(a: Attribute, Number(v)) => Some(Comparison(a, Some(v), None))
    case LessThan(a: Attribute, Number(v)) => Some(Comparison(a, None, Some(v)))
    case LessThanOrEqual(a: Attribute, Number(v)) => Some(Comparison(a, None, Some(v)))
    case GreaterThan(Number(v), a: Attribute) => Some(Comparison(a, None, Some(v)))
    case GreaterThanOrEqual(Number(v), a: Attribute) => Some(Comparison(a, None, Some(v)))
    case LessThan(Number(v), a: Attribute) => Some(Comparison(a, Some(v), None))
    case LessThanOrEqual(Number(v), a: Attribute) => Some(Comparison(a, Some(v), None))
    case _ => None
  }

  private def interval(parts: Seq[Comparison], column: ColumnStats): Double = {
    val (min, max) = (column.min.get, column.max.get)
    val low = (parts.flatMap(_.low) :+ min).max
    val high = (parts.flatMap(_.high) :+ max).min
    if (high < low) floor(column)
    else if (max == min) 1.0
    else math.max(floor(column), (high - low) / (max - min))
  }

  private def floor(column: ColumnStats): Double = 1.0 / math.max(1.0, column.ndv.getOrElse(1000.0))

  private def single(e: Expression, columns: AttributeMap[ColumnStats]): Option[Double] = {
    def equal(a: Attribute): Option[Double] =
      columns.get(a).filter(_.tight).flatMap(_.ndv).map(n => 1.0 / math.max(1.0, n))
    e match {
      case IsNotNull(a: Attribute) => Some(columns.get(a).flatMap(_.nulls).fold(1.0)(1.0 - _))
      case IsNull(a: Attribute) => columns.get(a).flatMap(_.nulls).map(math.max(_, 1e-6))
      case IsNotNull(_) | Literal(true, _) => Some(1.0)
      case Literal(_, BooleanType) => Some(0.0)
      // One value, be it one that a subquery finds.
      case EqualTo(a: Attribute, v) if v.references.isEmpty => equal(a)
      case EqualTo(v, a: Attribute) if v.references.isEmpty => equal(a)
      case In(a: Attribute, list) => equal(a).map(s => math.min(1.0, s * list.size))
      case InSet(a: Attribute, set) => equal(a).map(s => math.min(1.0, s * set.size))
      case Or(l, r) =>
        for (x <- single(l, columns); y <- single(r, columns)) yield x + y - x * y
      case And(l, r) =>
        val (expected, bound) = of(Seq(l, r), columns)
        Option.when(expected == bound)(expected)
      case Not(c) => single(c, columns).map(1.0 - _)
      case _ => None
    }
  }

  private object Number {
    def unapply(e: Expression): Option[Double] = e match {
      case Literal(v: Number, _: NumericType | DateType | TimestampType | TimestampNTZType) =>
        Some(v.doubleValue)
      case Literal(v: Decimal, _) => Some(v.toDouble)
      case _ => None
    }
  }
}

package org.apache.spark.sql.springbok.stats

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/** Selectivity of conjuncts, from column ranges, numbers of distinct values or those values themselves, else Impala's guess. */
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
      conjuncts.flatMap(comparison).partition(ranged(_, columns))
    val compared =
      ranges.groupBy(_.column.exprId).values.map(rs => exactly(interval(rs, columns(rs.head.column)))).toSeq
    val rest =
      conjuncts.filter(c => comparison(c).forall(others.contains) && !countsNulls(c, conjuncts, columns))
    val each = rest.map(single(_, columns))
    val known = compared ++ each.flatten
    // All conjuncts of which nothing is known count as one.
    val guessed = if (each.contains(None)) Seq(default) else Nil
    (combine(known.map(_._1) ++ guessed), combine(known.map(_._2)))
  }

  /** Whether a conjunct only leaves out nulls that another one, tried on the column's values, has left out already. */
  private def countsNulls(c: Expression, all: Seq[Expression], columns: AttributeMap[ColumnStats]): Boolean =
    c match {
      case IsNotNull(a: Attribute) =>
        columns.get(a).exists(_.values.get.isDefined) && all.exists(o =>
          o != c && o.references.toSeq == Seq(a)
        )
      case _ => false
    }

  private def ranged(c: Comparison, columns: AttributeMap[ColumnStats]): Boolean =
    columns.get(c.column).exists(_.min.isDefined)

  private def exactly(s: Double): (Double, Double) = (s, s)

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

  /** Expected and bound, None if nothing is known. */
  private def single(e: Expression, columns: AttributeMap[ColumnStats]): Option[(Double, Double)] = {
    def equal(a: Attribute): Option[Double] =
      columns.get(a).filter(_.tight).flatMap(_.ndv).map(n => 1.0 / math.max(1.0, n))
    val byNumbers = e match {
      case IsNotNull(a: Attribute) => Some(columns.get(a).flatMap(_.nulls).fold(1.0)(1.0 - _))
      case IsNull(a: Attribute) => columns.get(a).flatMap(_.nulls).map(math.max(_, 1e-6))
      case IsNotNull(_) | Literal(true, _) => Some(1.0)
      case Literal(_, BooleanType) => Some(0.0)
      // One value, be it one that a subquery finds.
      case EqualTo(a: Attribute, v) if v.references.isEmpty => equal(a)
      case EqualTo(v, a: Attribute) if v.references.isEmpty => equal(a)
      case In(a: Attribute, list) => equal(a).map(s => math.min(1.0, s * list.size))
      case InSet(a: Attribute, set) => equal(a).map(s => math.min(1.0, s * set.size))
      case _ => None
    }
    byNumbers.map(exactly).orElse(byValues(e, columns)).orElse(combined(e, columns))
  }

  /** A predicate on one column whose values are known. */
  private def byValues(e: Expression, columns: AttributeMap[ColumnStats]): Option[(Double, Double)] =
    e.references.toSeq match {
      case Seq(a) =>
        for {
          c <- columns.get(a)
          known <- c.values.get
          s <- known.share(e, a, c.tableRows, c.nulls.getOrElse(0.0))
        } yield s
      case _ => None
    }

  private def combined(e: Expression, columns: AttributeMap[ColumnStats]): Option[(Double, Double)] =
    e match {
      case Or(l, r) =>
        for ((x, bx) <- single(l, columns); (y, by) <- single(r, columns))
          yield (x + y - x * y, math.min(1.0, bx + by))
      case And(l, r) =>
        val parts = Seq(l, r)
        val known =
          parts.forall(p => comparison(p).exists(ranged(_, columns)) || single(p, columns).isDefined)
        Option.when(known)(of(parts, columns))
      case Not(c) =>
        // The least that the negated one may be is not known, unless it is all that is expected.
        single(c, columns).map { case (s, bound) => (1.0 - s, if (s == bound) 1.0 - s else 1.0) }
      case _ => None
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

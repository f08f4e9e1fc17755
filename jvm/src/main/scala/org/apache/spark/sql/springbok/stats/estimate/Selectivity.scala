package org.apache.spark.sql.springbok.stats.estimate

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/**
 * Selectivity of a predicate.
 *
 * @param expected
 *   fraction of the rows for which it is expected to hold
 * @param bound
 *   not exceeded as far as is known
 * @param most
 *   not exceeded however the values are spread over their range
 */
final case class Selectivity(expected: Double, bound: Double, most: Double = 1.0)

/** From column ranges, numbers of distinct values or the values themselves, otherwise Impala's guess. */
object Selectivity extends PredicateHelper {

  /** Impala's selectivity of an unknown conjunct (`Expr.DEFAULT_SELECTIVITY`). */
  val default = 0.1

  /** Selectivity of a conjunction. Unknown conjuncts do not reduce its bound. */
  def of(conjuncts: Seq[Expression], columns: AttributeMap[ColumnStats]): Selectivity = {
    val all = parts(conjuncts, columns)
    val known = combined(all.flatten)
    // All unknown conjuncts together count as one.
    if (all.contains(None))
      known.copy(expected = combine(all.flatten.map(_.expected) :+ default))
    else known
  }

  /** The expected selectivity of a predicate, None if one of its conjuncts is unknown. */
  def known(predicate: Expression, columns: AttributeMap[ColumnStats]): Option[Double] =
    together(predicate, columns).map(_.expected)

  private def together(e: Expression, columns: AttributeMap[ColumnStats]): Option[Selectivity] = {
    val all = parts(splitConjunctivePredicates(e), columns)
    Option.when(!all.contains(None))(combined(all.flatten))
  }

  private def combined(parts: Seq[Selectivity]): Selectivity =
    Selectivity(
      combine(parts.map(_.expected)),
      combine(parts.map(_.bound)),
      parts.map(_.most).minOption.getOrElse(1.0)
    )

  /** A column that equals a literal passes the other conjuncts on it alone, or the query returns nothing. */
  private def withoutImplied(all: Seq[Expression]): Seq[Expression] = {
    val equalities = all.collect {
      case e @ EqualTo(a: Attribute, _: Literal) => a -> e
      case e @ EqualTo(_: Literal, a: Attribute) => a -> e
    }
    val fixed = AttributeMap(equalities)
    def isImplied(e: Expression) = e.references.toSeq match {
      case Seq(a) => fixed.get(a).exists(_ ne e)
      case _ => false
    }
    if (equalities.isEmpty) all else all.filterNot(isImplied)
  }

  /** One part for each column's comparisons, for each column's values, and for each other conjunct; None where unknown. */
  private def parts(
      conjuncts: Seq[Expression],
      columns: AttributeMap[ColumnStats]
  ): Seq[Option[Selectivity]] = {
    val all = withoutImplied(conjuncts)
    val (ranges, rest) =
      all.partition(c => comparison(c).exists(r => columns.get(r.column).exists(_.range.isDefined)))
    val byColumn = ranges.flatMap(comparison).groupBy(_.column.exprId).values.toSeq
    val numbers = byColumn.map(rs => columns(rs.head.column)).filter(asksFiles).map(_.stored)
    numbers.headOption.foreach(_.sampleWith(numbers.tail))
    val compared = byColumn.map(rs => Some(interval(rs, columns(rs.head.column))))
    // All conjuncts about one column's values are evaluated together, with what they say of nulls.
    val (texts, others) = rest.partition(c => textOf(c).exists(columns.contains))
    val (counted, unknown) = texts
      .groupBy(textOf(_).get.exprId)
      .values
      .toSeq
      .map(cs => cs -> cs.map(byNumbers(_, columns)))
      .partition { case (_, known) => !known.contains(None) }
    val asked = unknown.map { case (cs, _) => columns(textOf(cs.head).get).stored }
    asked.headOption.foreach(_.readWith(asked.tail))
    val tried = unknown.flatMap { case (cs, _) =>
      byValues(cs.reduce(And), columns).fold(cs.map(single(_, columns)))(v => Seq(Some(v)))
    }
    compared ++ counted.flatMap(_._2) ++ tried ++ others.map(single(_, columns))
  }

  /** The only column of a predicate, if it is a string. */
  private def textOf(e: Expression): Option[Attribute] = e.references.toSeq match {
    case Seq(a) if a.dataType.isInstanceOf[StringType] => Some(a)
    case _ => None
  }

  /** What the files that were read say, or what follows if values are spread evenly. */
  private def likely(s: Double): Selectivity = Selectivity(s, s)
  private def exactly(s: Double): Selectivity = Selectivity(s, s, s)

  /** Longest list whose values are looked up in the row groups one by one. */
  private val fewValues = 20

  /** Impala's `PlanNode.computeCombinedSelectivity`: in ascending order, the i-th counts with its i-th root. */
  def combine(selectivities: Seq[Double]): Double =
    selectivities.sorted.zipWithIndex.map { case (s, i) => math.pow(s, 1.0 / (i + 1)) }.product

  /**
   * A column's comparison with a constant.
   *
   * @param low
   *   the constant, if it bounds the values from below
   * @param high
   *   the constant, if it bounds them from above
   * @param open
   *   whether the constant itself does not match
   */
  final private case class Comparison(
      column: Attribute,
      low: Option[Double],
      high: Option[Double],
      open: Boolean
  ) {

    /** See [[ValueRange.share]]. */
    def step: Double = column.dataType match {
      case _: IntegralType | DateType | TimestampType | TimestampNTZType => 1.0
      case d: DecimalType => math.pow(10, -d.scale.toDouble)
      case _ => 0.0
    }

    /** The lowest value for which it holds. */
    def first: Option[Double] = low.map(v => if (open) next(v, 1) else v)

    /** The highest value for which it holds. */
    def last: Option[Double] = high.map(v => if (open) next(v, -1) else v)

    /** The next value above or below. That of a decimal is the double next to it, as in footers: a sum may be another one. */
    private def next(v: Double, direction: Int): Double = column.dataType match {
      case d: DecimalType => (BigDecimal(v) + BigDecimal(direction, d.scale)).toDouble
      case _ if step > 0 => v + direction * step
      case _ => Math.nextAfter(v, direction * Double.PositiveInfinity)
    }
  }

  private def comparison(e: Expression): Option[Comparison] = e match {
    case GreaterThan(a: Attribute, Number(v)) => Some(Comparison(a, Some(v), None, open = true))
    case GreaterThanOrEqual(a: Attribute, Number(v)) => Some(Comparison(a, Some(v), None, open = false))
    case LessThan(a: Attribute, Number(v)) => Some(Comparison(a, None, Some(v), open = true))
    case LessThanOrEqual(a: Attribute, Number(v)) => Some(Comparison(a, None, Some(v), open = false))
    case GreaterThan(v @ Number(_), a: Attribute) => comparison(LessThan(a, v))
    case GreaterThanOrEqual(v @ Number(_), a: Attribute) => comparison(LessThanOrEqual(a, v))
    case LessThan(v @ Number(_), a: Attribute) => comparison(GreaterThan(a, v))
    case LessThanOrEqual(v @ Number(_), a: Attribute) => comparison(GreaterThanOrEqual(a, v))
    case _ => None
  }

  private def interval(parts: Seq[Comparison], column: ColumnStats): Selectivity = {
    def low(of: Comparison => Option[Double]) =
      parts.flatMap(of(_)).maxOption.getOrElse(Double.NegativeInfinity)
    def high(of: Comparison => Option[Double]) =
      parts.flatMap(of(_)).minOption.getOrElse(Double.PositiveInfinity)
    val (first, last, step) = (low(_.first), high(_.last), parts.head.step)
    val stored = if (asksFiles(column)) column.stored.share(first, last, step) else None
    val share = stored.getOrElse(column.range.get.share(first, last, step))
    val expected = math.max(floor(column), share)
    // Not the column's own range: that may be known of some of its files only.
    Selectivity(expected, expected, column.stored.fractionWithin(low(_.low), high(_.high)))
  }

  /** The values of a unique column are spread evenly. */
  private def asksFiles(column: ColumnStats): Boolean = column.uniqueness == Uniqueness.Unknown

  private def floor(column: ColumnStats): Double = 1.0 / math.max(1.0, column.distinct.fold(1000.0)(_.atMost))

  private def single(e: Expression, columns: AttributeMap[ColumnStats]): Option[Selectivity] =
    byNumbers(e, columns).orElse(byValues(e, columns)).orElse(nested(e, columns))

  /** By ranges and numbers of values. */
  private def byNumbers(e: Expression, columns: AttributeMap[ColumnStats]): Option[Selectivity] = {
    def equal(a: Attribute, values: Seq[Any]): Option[Selectivity] = for {
      c <- columns.get(a).filter(_.tight)
      one <- c.ndv.map(n => 1.0 / math.max(1.0, n))
    } yield {
      val s = math.min(1.0, one * values.size)
      // A proven unique key is found once. All rows of a row group may have another one.
      val numbers = values.flatMap(Estimate.number)
      val most =
        if (c.uniqueness.proven) s
        else if (numbers.isEmpty || numbers.size < values.size) 1.0
        else if (numbers.size > fewValues) c.stored.fractionWithin(numbers.min, numbers.max)
        else numbers.map(n => c.stored.fractionWithin(n, n)).sum
      // Of a sample's values one may be nearly all there is.
      val bound = if (c.distinct.exists(_.isInstanceOf[Distinct.Sampled])) 1.0 else s
      Selectivity(s, bound, math.min(1.0, most))
    }
    e match {
      case IsNotNull(a: Attribute) => Some(likely(columns.get(a).flatMap(_.nullFraction).fold(1.0)(1.0 - _)))
      case IsNull(a: Attribute) => columns.get(a).flatMap(_.nullFraction).map(n => likely(math.max(n, 1e-6)))
      case IsNotNull(_) | Literal(true, _) => Some(exactly(1.0))
      case Literal(_, BooleanType) => Some(exactly(0.0))
      // One value, which may be a subquery's.
      case EqualTo(a: Attribute, v) if v.references.isEmpty => equal(a, Seq(literal(v)))
      case EqualTo(v, a: Attribute) if v.references.isEmpty => equal(a, Seq(literal(v)))
      case In(a: Attribute, list) => equal(a, list.map(literal))
      case InSet(a: Attribute, set) => equal(a, set.toSeq)
      case _ => None
    }
  }

  /** The value of a literal; null, which is not a number, for what is known only when it is computed. */
  private def literal(e: Expression): Any = e match {
    case Literal(v, _) => v
    case _ => null
  }

  /** By the values of its only column. */
  private def byValues(e: Expression, columns: AttributeMap[ColumnStats]): Option[Selectivity] = for {
    a <- textOf(e)
    c <- columns.get(a)
    known <- c.stored.distinctValues
    part <- known.selectivity(e, a, c.table.rows, c.nullFraction)
  } yield part

  private def nested(e: Expression, columns: AttributeMap[ColumnStats]): Option[Selectivity] = e match {
    case Or(l, r) =>
      for (x <- together(l, columns); y <- together(r, columns))
        yield Selectivity(
          x.expected + y.expected - x.expected * y.expected,
          math.min(1.0, x.bound + y.bound),
          math.min(1.0, x.most + y.most)
        )
    case Not(c) =>
      // The least selectivity of the negated predicate is unknown, unless its bound is what is expected. Impala guesses
      // the default for the negation as well, as if as many rows had a text as had not.
      val negated = together(c, columns).getOrElse(Selectivity(default, 1.0))
      Some(
        Selectivity(
          1.0 - negated.expected,
          if (negated.expected == negated.bound) 1.0 - negated.expected else 1.0
        )
      )
    case _ => None
  }

  private object Number {
    def unapply(e: Expression): Option[Double] = e match {
      // NaN is above all numbers, but no place in a range.
      case Literal(v: Number, _: NumericType | DateType | TimestampType | TimestampNTZType) =>
        Some(v.doubleValue).filterNot(_.isNaN)
      case Literal(v: Decimal, _) => Some(v.toDouble)
      case _ => None
    }
  }
}

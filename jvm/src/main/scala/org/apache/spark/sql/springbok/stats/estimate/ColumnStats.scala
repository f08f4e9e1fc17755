package org.apache.spark.sql.springbok.stats.estimate

import org.apache.spark.sql.catalyst.expressions.{Attribute, Cast, Expression, ExprId}
import org.apache.spark.sql.types.{DataType, DateType, IntegralType}

/**
 * What is known of a column. Unless told otherwise, it is about the unfiltered table that the column comes from.
 *
 * @param valueBytes
 *   average bytes of a value of variable length, None if unknown
 * @param nullFraction
 *   fraction of the rows where the column is null, None if unknown
 * @param remaining
 *   most distinct values that are left here, after all filters and joins below
 */
final case class ColumnStats(
    table: ColumnStats.Table,
    distinct: Option[Distinct],
    range: Option[ValueRange],
    valueBytes: Option[Double],
    nullFraction: Option[Double],
    uniqueness: Uniqueness,
    remaining: Double,
    stored: StoredValues = StoredValues.unknown
) {

  /** Number of distinct values. */
  def ndv: Option[Double] = distinct.map(_.value)

  /** Whether more than the table's number of rows bounds the number of distinct values. */
  def tight: Boolean = distinct.exists(_.tight)
}

object ColumnStats {

  /**
   * A table in the query.
   *
   * @param rows
   *   of the unfiltered table; no combination of its columns has more values
   * @param id
   *   the same for all columns of the table, None for a union of several tables
   */
  final case class Table(rows: Double, id: Option[ExprId])

  /** A column that has one of some constants in each row. */
  def ofConstants(values: Int, rows: Double): ColumnStats = {
    val distinct = Some(Distinct.Counted(values.toDouble))
    ColumnStats(Table(rows, None), distinct, None, None, Some(0.0), Uniqueness.Unknown, values.toDouble)
  }

  /**
   * A column of a union's output, from its children's. Key columns of one domain are united most often, so the children
   * have the same values, unless the range of all of them has room for more.
   */
  def united(children: Seq[ColumnStats]): ColumnStats = {
    def all[T](f: ColumnStats => Option[T]): Option[Seq[T]] =
      Option.when(children.forall(f(_).isDefined))(children.flatMap(f(_)))
    val rows = children.map(_.table.rows).sum
    val range = all(_.range).map(each => ValueRange(each.map(_.min).min, each.map(_.max).max))
    val room = range.fold(0.0)(_.width + 1)
    def together(values: Seq[Double]) = math.max(values.max, math.min(room, values.sum))
    val distinct = all(_.distinct).map { each =>
      lazy val ndv = together(each.map(_.value))
      // Strings have no range that bounds their values.
      def atMost = if (range.isDefined) together(each.map(_.atMost)) else each.map(_.atMost).sum
      if (each.exists(_.isInstanceOf[Distinct.Sampled]))
        new Distinct.Sampled(atMost, Option.when(each.forall(_.tight))(ndv))
      else if (each.forall(_.tight))
        Distinct.Estimated(ndv, if (each.forall(d => d.atMost <= d.value)) atMost else each.map(_.atMost).sum)
      else Distinct.UpperBound(atMost)
    }
    val nulls = all(c => c.nullFraction.map(_ * c.table.rows))
    ColumnStats(
      table = Table(rows, id = None),
      distinct = distinct,
      range = range,
      valueBytes = all(_.valueBytes).map(_.max),
      nullFraction = nulls.map(_.sum / math.max(1.0, rows)),
      uniqueness = Uniqueness.Unknown,
      remaining = children.map(_.remaining).sum
    )
  }
}

/**
 * What a source reports of a column, and what follows from it.
 *
 * @param counted
 *   number of distinct values
 * @param dense
 *   whether each row group has as many rows as integers in its range
 */
final case class ColumnFacts(
    range: Option[ValueRange],
    counted: Option[Double],
    nullFraction: Option[Double],
    valueBytes: Option[Double],
    dense: Boolean
) {

  /** @param exact whether range, nulls and rows are of all the files that there are */
  def stats(t: DataType, table: ColumnStats.Table, exact: Boolean, stored: StoredValues): ColumnStats = {
    val rows = table.rows
    val domain = if (ColumnFacts.countable(t)) range.map(_.width + 1) else None
    val unique = uniqueness(domain, rows, exact)
    val distinct = counted
      .map(Distinct.Counted(_))
      .orElse(domain.map { d =>
        if (d < rows * Distinct.nearlyAll) Distinct.Estimated(d, if (exact) d else rows)
        else if (unique != Uniqueness.Unknown) Distinct.UpperBound(math.min(d, rows))
        else new Distinct.Sampled(math.min(d, rows), stored.distinctCount)
      })
    ColumnStats(
      table,
      distinct,
      range,
      valueBytes,
      nullFraction,
      unique,
      remaining = distinct.fold(rows)(_.atMost),
      stored
    )
  }

  private def uniqueness(domain: Option[Double], rows: Double, exact: Boolean): Uniqueness = {
    // Counts are estimates with an error of a few percent. A range with fewer integers than rows has one twice.
    val fewest = if (exact) rows * (1 - nullFraction.getOrElse(0.0)) else rows * 0.98
    if (exact && dense && domain.contains(rows) && nullFraction.contains(0.0)) Uniqueness.Proven
    else if (counted.exists(_ >= rows * 0.95) || domain.exists(d => d >= fewest && d <= rows * 1.02))
      Uniqueness.Believed
    else Uniqueness.Unknown
  }
}

object ColumnFacts {

  /** Whether a range of the type has a number of values. */
  private def countable(t: DataType): Boolean = t match {
    case _: IntegralType | DateType => true
    case _ => false
  }
}

/** Whether no two rows have the same value of a column, or the same key. */
sealed abstract class Uniqueness(private val level: Int) {

  /** Whether statistics look like it, or prove it. */
  def believed: Boolean = level > 0
  def proven: Boolean = this == Uniqueness.Proven

  def min(other: Uniqueness): Uniqueness = if (other.level < level) other else this
  def max(other: Uniqueness): Uniqueness = if (other.level > level) other else this
}

object Uniqueness {
  case object Unknown extends Uniqueness(0)

  /** The number of values, or the range of integers, is about the number of rows. */
  case object Believed extends Uniqueness(1)

  /** Beyond doubt: a column that repeats values does not look like it by chance, however large its table is. */
  case object Proven extends Uniqueness(2)
}

/**
 * A column, or an integral column that is cast to a wider integral type: range and number of values stay the same. They
 * change if a timestamp becomes a number, which counts seconds, or if a fraction is cut off.
 */
private[springbok] object WidenedColumn {
  def unapply(e: Expression): Option[Attribute] = e match {
    case a: Attribute => Some(a)
    case Cast(a: Attribute, to: IntegralType, _, _) if widens(a, to) => Some(a)
    case _ => None
  }

  private def widens(a: Attribute, to: IntegralType): Boolean = a.dataType match {
    case from: IntegralType => from.defaultSize <= to.defaultSize
    case _ => false
  }
}

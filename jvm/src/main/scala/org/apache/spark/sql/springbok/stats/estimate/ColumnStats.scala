package org.apache.spark.sql.springbok.stats.estimate

import org.apache.spark.sql.catalyst.expressions.ExprId

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

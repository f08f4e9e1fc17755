package org.apache.spark.sql.springbok.stats.source

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.springbok.stats.estimate.ValueRange

/**
 * What the footers of a table's files say.
 *
 * @param rows
 *   rows of the whole table, scaled by bytes if not all files were read
 * @param groups
 *   the row groups of the files that were read
 * @param unreadable
 *   files whose footers could not be read
 * @param plain
 *   whether all rows of the files are the table's: a table format's log may delete some of them
 */
final case class TableFooters(
    rows: Double,
    files: Int,
    filesRead: Int,
    groups: Seq[RowGroup],
    unreadable: Int = 0,
    plain: Boolean = true
) {
  def exact: Boolean = allRead && plain

  def allRead: Boolean = filesRead == files

  // A table with many row groups is asked for the same columns at each planning and re-planning.
  private val columns = new ConcurrentHashMap[String, FooterColumn]()
  private def column(name: String): FooterColumn =
    columns.computeIfAbsent(name, new FooterColumn(_, groups))

  /** Fraction of the column's values that are null, None if a row group does not say. */
  def nullFraction(name: String): Option[Double] = column(name).nullFraction

  /** Average bytes of a value of variable length, before compression. */
  def valueBytes(name: String): Option[Double] = column(name).valueBytes

  /**
   * Bytes of all values of a column of variable length, before compression. They are not exceeded: rows that a log has deleted
   * are counted too. None if a file was not read, or does not say.
   */
  def mostBytes(name: String): Option[Double] = if (allRead) column(name).mostBytes else None

  /** The range over all row groups with a value, None if one of them lacks it. */
  def range(name: String): Option[ValueRange] = column(name).range

  /**
   * Whether the integers from the smallest to the largest of each row group are as many as its rows, so that each row may have
   * one of its own. A column that refers to rows of its own table does not look like it: some of them are in other row groups.
   */
  def dense(name: String): Boolean = exact && column(name).dense

  /**
   * How narrow row groups are, from 0 (each has values from the whole of the column's range) to nearly 1 (sorted); None if
   * a row group does not say.
   */
  def clustering(name: String): Option[Double] = column(name).clustering

  /** Whether row groups have so much of their ranges in common that these tell little of where values are. */
  def overlap(name: String): Boolean = clustering(name).exists(_ < TableFooters.leastClustered)

  /**
   * Fraction of the column's values that are expected from `low` to `high`; None if a row group does not say, or if a file
   * that was not read may have all of them.
   */
  def share(name: String, low: Double, high: Double, step: Double): Option[Double] =
    if (allRead || overlap(name)) column(name).share(low, high, step) else None

  /**
   * Fraction of the rows in row groups that may have a value of the column within a range: a bound that holds however its
   * values are spread. It is 1 unless all files were read.
   */
  def fractionWithin(name: String, low: Double, high: Double): Double =
    if (!exact || rows <= 0) 1.0
    else
      groups
        .filter(g => !g.allNull(name) && g.ranges.get(name).forall(r => r.min <= high && r.max >= low))
        .map(_.rows.toDouble)
        .sum / rows
}

object TableFooters {

  /** Row groups that are narrower than half of the column's range are a histogram. */
  private val leastClustered = 0.5
}

/** A column over all row groups, computed when it is first asked for. */
final private class FooterColumn(name: String, groups: Seq[RowGroup]) {
  lazy val nullFraction: Option[Double] = {
    val nulls = groups.filter(_.rows > 0).map(_.nulls.get(name))
    Option.when(nulls.nonEmpty && nulls.forall(_.isDefined))(
      nulls.flatten.sum.toDouble / groups.map(_.rows).sum
    )
  }

  lazy val valueBytes: Option[Double] = {
    val rows = groups.map(_.rows).sum
    val sizes = groups.flatMap(_.sizes.get(name))
    Option.when(rows > 0 && sizes.nonEmpty)(sizes.sum.toDouble / rows)
  }

  lazy val mostBytes: Option[Double] = {
    val sizes = groups.filter(g => g.rows > 0 && !g.allNull(name)).map(_.mostSizes.get(name))
    Option.when(sizes.forall(_.isDefined))(sizes.flatten.sum.toDouble)
  }

  /** The range and the number of values of each row group that has some; empty if one of them lacks its range. */
  private lazy val ranges: Seq[(ValueRange, Long)] = {
    val filled = groups.filter(g => g.rows > 0 && !g.allNull(name))
    val known = filled.flatMap(g => g.ranges.get(name).map(_ -> (g.rows - g.nulls.getOrElse(name, 0L))))
    if (known.size == filled.size) known else Nil
  }

  lazy val range: Option[ValueRange] =
    Option.when(ranges.nonEmpty)(ValueRange(ranges.map(_._1.min).min, ranges.map(_._1.max).max))

  def dense: Boolean =
    nullFraction.contains(0.0) && ranges.nonEmpty && ranges.forall { case (r, n) => r.width + 1 == n }

  private lazy val values: Long = ranges.map(_._2).sum

  /** The row groups are a histogram: each has its values spread evenly over its own range. */
  def share(low: Double, high: Double, step: Double): Option[Double] =
    Option.when(values > 0)(ranges.map { case (r, n) => r.share(low, high, step) * n }.sum / values)

  lazy val clustering: Option[Double] = range.filter(_.width > 0).map { whole =>
    val each = groups.flatMap(_.ranges.get(name)).map(_.width)
    1 - each.sum / each.size / whole.width
  }
}

/** What the footers of a relation's files say, in each format that has footers. */
object Footers {

  /** None if the format has no footers, or nothing could be read. */
  def read(relation: HadoopFsRelation): Option[TableFooters] =
    sample(relation).filter(_.filesRead > 0)

  /** The same, even if no footer could be read. */
  private[springbok] def sample(relation: HadoopFsRelation): Option[TableFooters] =
    ParquetFooters.sample(relation).orElse(OrcFooters.sample(relation))
}

/**
 * A row group of a Parquet file, or a stripe of an ORC file. The maps are by the names of columns.
 *
 * @param sizes
 *   bytes of a column's values, about
 * @param mostSizes
 *   bytes of a column's values that are not exceeded
 * @param nulls
 *   number of nulls
 * @param precisions
 *   number of digits of Parquet's decimals
 * @param types
 *   ORC's names of the types that the file has
 */
final case class RowGroup(
    rows: Long,
    ranges: Map[String, ValueRange],
    sizes: Map[String, Long],
    nulls: Map[String, Long] = Map.empty,
    precisions: Map[String, Int] = Map.empty,
    types: Map[String, String] = Map.empty,
    mostSizes: Map[String, Long] = Map.empty
) {

  /** The same with other names of columns; those that get none are left out. */
  def named(name: String => Option[String]): RowGroup = {
    def each[V](of: Map[String, V]): Map[String, V] =
      of.flatMap { case (column, value) => name(column).map(_ -> value) }
    copy(
      ranges = each(ranges),
      sizes = each(sizes),
      nulls = each(nulls),
      precisions = each(precisions),
      types = each(types),
      mostSizes = each(mostSizes)
    )
  }

  /** Whether the column has no value at all here, and so no range. */
  def allNull(column: String): Boolean = nulls.get(column).contains(rows)
}

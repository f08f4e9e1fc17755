package org.apache.spark.sql.springbok.stats.source

import org.apache.spark.sql.springbok.stats.estimate.ValueRange

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

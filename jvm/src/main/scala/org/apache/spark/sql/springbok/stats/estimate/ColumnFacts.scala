package org.apache.spark.sql.springbok.stats.estimate

import org.apache.spark.sql.types.{DataType, DateType, IntegralType}

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

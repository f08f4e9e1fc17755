package org.apache.spark.sql.springbok.stats.estimate

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}

/** What is known of the distinct values of a string column. */
trait ColumnValues {

  /** The most distinct values that there can be, None if unknown. */
  def atMost: Option[Int]

  /**
   * Selectivity of a predicate on the column alone; None if the values do not tell.
   *
   * @param rows
   *   rows of the table
   * @param nulls
   *   fraction of them where the column is null, None if unknown
   */
  def selectivity(
      predicate: Expression,
      column: Attribute,
      rows: Double,
      nulls: Option[Double]
  ): Option[Selectivity]
}

private[estimate] object ColumnValues {

  /** How much more frequent than what was seen suggests a value may be in the files that were not read. */
  val skew = 10.0
}

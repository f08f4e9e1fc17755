package org.apache.spark.sql.springbok.stats.estimate

/** Smallest and largest value of a column as numbers: days for dates, microseconds for timestamps. */
final case class ValueRange(min: Double, max: Double) {
  def width: Double = max - min
}

package org.apache.spark.sql.springbok.stats.estimate

/** Smallest and largest value of a column as numbers: days for dates, microseconds for timestamps. */
final case class ValueRange(min: Double, max: Double) {
  def width: Double = max - min

  /**
   * Fraction of the values that are from `low` to `high`, if they are spread evenly over the range.
   *
   * @param step
   *   distance of neighbouring values, 0 if another one may be between any two
   */
  def share(low: Double, high: Double, step: Double): Double = {
    val (from, to) = (math.max(min, low), math.min(max, high))
    // A range that is infinite has no parts.
    if (from > to) 0.0
    else if (width + step <= 0 || width.isInfinity) 1.0
    else (to - from + step) / (width + step)
  }
}

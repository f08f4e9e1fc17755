package org.apache.spark.sql.springbok.stats.estimate

/**
 * A number of rows with its source.
 *
 * @param value
 *   expected rows
 * @param bound
 *   rows that are not exceeded unless the statistics are wrong: conjuncts whose selectivity is only a guess do not reduce
 *   it. It decides what may be held in memory.
 * @param most
 *   rows that are not exceeded however the values are spread over a column's range. One date of 1970 makes the last month
 *   look like almost nothing, though it may be all there is.
 */
final case class Rows(value: Double, bound: Double, source: Source, most: Double) {
  def scale(by: Double): Rows =
    Rows(value * by, bound * by, Source.Estimated, most * by)

  /** The rows of both. */
  def +(other: Rows): Rows =
    Rows(value + other.value, bound + other.bound, Source.Estimated, most + other.most)

  /** No fewer than the others. */
  def atLeast(other: Rows): Rows = Rows(
    math.max(value, other.value),
    math.max(bound, other.bound),
    Source.Estimated,
    math.max(most, other.most)
  )

  /** At most `n` of them. */
  def atMost(n: Double): Rows =
    Rows(math.min(n, value), math.min(n, bound), Source.Estimated, math.min(n, most))
}

object Rows {
  def apply(value: Double, bound: Double, source: Source): Rows = Rows(value, bound, source, bound)
}

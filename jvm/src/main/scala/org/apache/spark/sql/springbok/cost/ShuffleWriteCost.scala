package org.apache.spark.sql.springbok.cost

/**
 * What the two ways of writing a shuffle cost, in ns of one core. Measured on rows of 20 to 120 bytes in 200 partitions: a
 * file a partition takes 0.6 to 1 ms a file, whatever is in it; sorting takes 120 ns more a row. At 5,000 rows a file
 * both are equal.
 */
object ShuffleWriteCost {

  /** Making a file for a partition, and putting it together with the others. */
  val file = 600e3

  /** Sorting a row by its partition, in memory. */
  val sort = 120.0

  /**
   * What it saves to sort the rows instead of writing a file a partition; negative where it costs more.
   *
   * @param rows
   *   of all tasks
   * @param tasks
   *   that write the shuffle
   */
  def saved(rows: Double, tasks: Double, partitions: Int): Double = tasks * partitions * file - rows * sort
}

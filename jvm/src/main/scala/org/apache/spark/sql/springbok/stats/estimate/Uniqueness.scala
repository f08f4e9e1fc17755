package org.apache.spark.sql.springbok.stats.estimate

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

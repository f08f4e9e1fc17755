package org.apache.spark.sql.springbok.stats.estimate

/** What a table's files tell of the values of one column when they are asked. */
trait StoredValues {

  /** The distinct values themselves, or a sample of the rows. */
  def distinctValues: Option[ColumnValues]

  /** The most distinct values that there can be, None if that takes more than a look at dictionaries. */
  def mostDistinct: Option[Int] = None

  /** Bytes of all values of the column in its table that are not exceeded, None if nothing proves that. */
  def mostBytes: Option[Double] = None

  /** About how many distinct values there are, from a sample of the files; None if they do not tell. */
  def distinctCount: Option[Double] = None

  /** Reads the distinct values of this and other columns, all at the same time if each read takes long. */
  def readWith(others: Seq[StoredValues]): Unit = ()

  /** Reads samples of this and other columns that will be asked for a [[share]], all at the same time as well. */
  def sampleWith(others: Seq[StoredValues]): Unit = ()

  /**
   * Fraction of the values that are expected from `low` to `high`, by the row groups as a histogram or by sampled rows. None if
   * the files do not tell.
   *
   * @param step
   *   see [[ValueRange.share]]
   */
  def share(low: Double, high: Double, step: Double): Option[Double] = None

  /** Fraction of the table's rows that may have a value from `low` to `high`, however the values are spread. */
  def fractionWithin(low: Double, high: Double): Double
}

object StoredValues {
  val unknown: StoredValues = bounded(None)

  /** Nothing is known but how long they are together. */
  def bounded(bytes: Option[Double]): StoredValues = new StoredValues {
    override def mostBytes: Option[Double] = bytes
    override def distinctValues: Option[ColumnValues] = None
    override def fractionWithin(low: Double, high: Double): Double = 1.0
  }
}

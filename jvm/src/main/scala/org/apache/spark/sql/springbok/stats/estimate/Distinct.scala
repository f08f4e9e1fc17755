package org.apache.spark.sql.springbok.stats.estimate

/** Number of distinct values of a column. */
sealed trait Distinct {
  def value: Double

  /** Whether more than the number of rows bounds it. */
  def tight: Boolean

  /** No more than this many, unless the statistics are wrong. */
  def atMost: Double = value

  /** The value as far as it is known without reading a file. */
  def known: Double = value
}

object Distinct {

  /** Counted: by ANALYZE TABLE, by the source, or by the listing of partitions. */
  final case class Counted(value: Double) extends Distinct {
    override def tight: Boolean = true
  }

  /**
   * From the range of integers, which has room for fewer values than there are rows.
   *
   * @param atMost
   *   more than the value if the range is that of a sample
   */
  final case class Estimated(value: Double, override val atMost: Double) extends Distinct {
    override def tight: Boolean = true
  }

  /** About as many as there are rows, or fewer. */
  final case class UpperBound(value: Double) extends Distinct {
    override def tight: Boolean = false
  }

  /**
   * From a sample of the files, which is read when the number is first asked for.
   *
   * @param atMost
   *   values that there can be; what the sample says is no bound
   * @param count
   *   about how many there are; None if the files do not tell
   */
  final class Sampled(override val atMost: Double, count: => Option[Double]) extends Distinct {
    @volatile private var asked = false
    private lazy val found = {
      asked = true
      count.filter(_ < atMost * Distinct.nearlyAll)
    }
    override def value: Double = found.getOrElse(atMost)
    override def tight: Boolean = found.isDefined
    override def known: Double = if (asked) value else atMost
  }

  /** Fewer values than this fraction of the rows say more than the number of rows. */
  private[estimate] val nearlyAll = 0.9
}

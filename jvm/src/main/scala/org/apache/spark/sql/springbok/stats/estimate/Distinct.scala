package org.apache.spark.sql.springbok.stats.estimate

/** Number of distinct values of a column. */
sealed trait Distinct extends Product with Serializable {
  def value: Double

  /** Whether more than the number of rows bounds it. */
  def tight: Boolean
}

object Distinct {

  /** Counted: by ANALYZE TABLE, by the source, or by the listing of partitions. */
  final case class Counted(value: Double) extends Distinct {
    override def tight: Boolean = true
  }

  /** From the range of integers, which has room for fewer values than there are rows. */
  final case class Estimated(value: Double) extends Distinct {
    override def tight: Boolean = true
  }

  /** About as many as there are rows, or fewer. */
  final case class UpperBound(value: Double) extends Distinct {
    override def tight: Boolean = false
  }
}

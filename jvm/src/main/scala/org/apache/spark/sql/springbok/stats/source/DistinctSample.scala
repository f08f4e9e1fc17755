package org.apache.spark.sql.springbok.stats.source

import org.apache.datasketches.hll.{HllSketch, Union}
import org.apache.spark.sql.springbok.stats.source.RowGroupValues.Counted

/** The number of distinct values of a column, from the values of some of its row groups. */
private[source] object DistinctSample {

  /** Row groups with a smaller fraction of their values in common have none in common: the sketches err by 1.6%. */
  private val noise = 0.05

  /** Counts distinct values: 4096 counters have an error of 1.6%. */
  def sketch(): HllSketch = new HllSketch(12)

  /**
   * About how many distinct values there are.
   *
   *   - If all row groups were read: those of all together.
   *   - If the two largest have `m` values in common, of `d1` and `d2`, each of them is a random sample of `d1 * d2 / m`
   *     values (the Lincoln-Petersen estimate).
   *   - If they have none in common, as in a sorted column, each has values of its own, and there are as many values for
   *     each row as in these row groups. The same bounds the estimate before.
   *   - If one of them has so few values that the sketches cannot tell how many are in common: unknown.
   *
   * @param rows
   *   rows of the table that are not null
   * @param whole
   *   whether these are all row groups
   */
  def count(groups: Seq[Counted], rows: Double, whole: Boolean): Option[Double] =
    groups.filter(_.present > 0).sortBy(-_.present).toList match {
      case Nil => None
      case some if whole => Some(union(some))
      case only :: Nil => Some(only.distinct / only.present * rows)
      case a :: b :: _ =>
        val perRow = groups.map(_.distinct).sum / groups.map(_.present).sum * rows
        val all = union(Seq(a, b))
        val common = a.distinct + b.distinct - all
        if (math.min(a.distinct, b.distinct) < 2 * noise * all) None
        else if (common < noise * all) Some(perRow)
        else Some(math.min(perRow, math.max(all, a.distinct * b.distinct / common)))
    }

  private def union(groups: Seq[Counted]): Double =
    if (groups.size == 1) groups.head.distinct
    else {
      val union = new Union(groups.head.sketch.getLgConfigK)
      groups.foreach(g => union.update(g.sketch))
      math.max(groups.map(_.distinct).max, union.getEstimate)
    }
}

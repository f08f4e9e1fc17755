package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.cost.Filtered
import org.apache.spark.sql.springbok.reason.Reason

/**
 * Which of the filters of a plan are made. Filters are placed from the root down, and the first ones need not be the best.
 *
 *   - A filter that is worth it alone may save little beside a better one on the same scan, which has removed most of the
 *     rows already.
 *   - There is a limit to their number, and to the size of all of their bloom filters.
 */
final private[springbok] class FilterBudget(most: FilterBudget.Share) {
  import FilterBudget._

  /** The keys whose filters are not made, and why. Those that save most come first. */
  def refused(requests: Seq[Request]): Map[Key, Reason] =
    requests
      .sortBy(-_.benefitMs)
      .foldLeft(Decided()) { (before, r) =>
        val benefit = r.beside(before.retained)
        if (benefit < r.leastMs) before.refuse(r, Reason.otherFiltersSuffice(benefit, r.leastMs))
        else if (!(before.taken + r.share).within(most)) before.refuse(r, Reason.tooManyFilters)
        else before.make(r)
      }
      .refused
}

private[springbok] object FilterBudget {
  def of(conf: SQLConf): FilterBudget = new FilterBudget(
    Share(
      conf.getConf(FilterConf.MAX_NUMBER).toLong,
      conf.getConf(FilterConf.MAX_TOTAL_BYTES)
    )
  )

  /** A key of a join, which filters are made of. */
  final case class Key(join: Int, index: Int)

  /**
   * The filters of a key.
   *
   * @param benefitMs
   *   time in ms of all cores that they are expected to save if there are no others
   * @param leastMs
   *   time in ms that they must save; 0 for those that are made in any case
   * @param scans
   *   the part of the benefit that each scan has, by the number of its operator. What is saved in further hops is apart.
   * @param retained
   *   the fraction of the scans' rows that is expected to pass
   */
  final case class Request(
      key: Key,
      benefitMs: Double,
      leastMs: Double,
      scans: Seq[(Int, Double)],
      retained: Double,
      share: Share
  ) {

    /** The benefit in ms if other filters have left a fraction of a scan's rows. */
    def beside(others: Map[Int, Double]): Double =
      benefitMs - scans.map { case (scan, ms) => ms * (1 - others.getOrElse(scan, 1.0)) }.sum
  }

  /**
   * What filters take of the budget.
   *
   * @param filters
   *   their number, counted by target scan
   * @param bytes
   *   the size of the bloom filter that they share
   */
  final case class Share(filters: Long, bytes: Long) {
    def +(s: Share): Share = Share(filters + s.filters, bytes + s.bytes)
    def within(s: Share): Boolean = filters <= s.filters && bytes <= s.bytes
  }

  object Share {
    val none: Share = Share(0, 0)
  }

  /**
   * @param retained
   *   the fraction of rows that the filters made so far leave, by scan
   */
  final private case class Decided(
      refused: Map[Key, Reason] = Map.empty,
      retained: Map[Int, Double] = Map.empty,
      taken: Share = Share.none
  ) {
    def refuse(r: Request, why: Reason): Decided = copy(refused = refused + (r.key -> why))

    def make(r: Request): Decided = copy(
      retained = r.scans.map(_._1).distinct.foldLeft(retained) { (left, scan) =>
        left.updated(scan, left.getOrElse(scan, 1.0) * math.max(Filtered.leastRetained, r.retained))
      },
      taken = taken + r.share
    )
  }
}

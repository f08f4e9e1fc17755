package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.FilterConf

/**
 * How many filters a plan may have, and how large all of their bloom filters may be. Filters are placed from the root down,
 * and the first ones need not be the best. If there are too many, those that save most are chosen.
 */
final private[springbok] class FilterBudget(most: FilterBudget.Share) {
  import FilterBudget._

  /** The keys whose filters fit into the budget, best first; None if all of them do. */
  def chosen(requests: Seq[Request]): Option[Set[Key]] =
    if (requests.map(_.share).fold(Share.none)(_ + _).within(most)) None
    else {
      val (keys, _) =
        requests.sortBy(-_.benefitMs).foldLeft((Set.empty[Key], Share.none)) { case ((keys, sum), r) =>
          if ((sum + r.share).within(most)) (keys + r.key, sum + r.share) else (keys, sum)
        }
      Some(keys)
    }
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
   *   what they are expected to save
   */
  final case class Request(key: Key, benefitMs: Double, share: Share)

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
}

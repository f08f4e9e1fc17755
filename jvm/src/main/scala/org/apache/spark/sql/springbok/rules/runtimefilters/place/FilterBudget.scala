package org.apache.spark.sql.springbok.rules.runtimefilters.place

import scala.collection.mutable

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.FilterConf

/**
 * The filters that a plan may have, by number and by bytes of their bloom filters. They are placed from the root down, and
 * the first to come need not be the best: where there are too many the plan is gone through again with those that save
 * most.
 */
final private[springbok] class FilterBudget(conf: SQLConf) {
  private val most = FilterBudget.Share(
    conf.getConf(FilterConf.MAX_NUMBER).toLong,
    conf.getConf(FilterConf.MAX_TOTAL_BYTES)
  )
  private val asked = mutable.LinkedHashMap.empty[(Int, Int), (Double, FilterBudget.Share)]
  private var chosen: Option[Set[(Int, Int)]] = None

  /**
   * Whether a key's filters may be placed.
   *
   * @param key
   *   the join and which of its keys
   * @param benefitMs
   *   what they are expected to save
   */
  def allows(key: (Int, Int), benefitMs: Double, share: FilterBudget.Share): Boolean = {
    asked.getOrElseUpdate(key, benefitMs -> share): Unit
    chosen.forall(_(key))
  }

  /** Whether more was asked for than there is; from then on only the best are allowed. */
  def exceeded(): Boolean = chosen.isEmpty && {
    val over = !asked.values.map(_._2).fold(FilterBudget.none)(_ + _).within(most)
    if (over) {
      val best = asked.toSeq.sortBy { case (_, (benefit, _)) => -benefit }
      chosen = Some(
        best
          .foldLeft((Set.empty[(Int, Int)], FilterBudget.none)) { case ((keys, sum), (key, (_, share))) =>
            if ((sum + share).within(most)) (keys + key, sum + share) else (keys, sum)
          }
          ._1
      )
    }
    over
  }
}

private[springbok] object FilterBudget {
  val none: Share = Share(0, 0)

  /**
   * What filters take.
   *
   * @param filters
   *   their number, by target scan
   * @param bytes
   *   of the bloom filter that they share
   */
  final case class Share(filters: Long, bytes: Long) {
    def +(s: Share): Share = Share(filters + s.filters, bytes + s.bytes)
    def within(s: Share): Boolean = filters <= s.filters && bytes <= s.bytes
  }
}

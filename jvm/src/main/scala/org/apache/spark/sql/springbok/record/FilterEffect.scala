package org.apache.spark.sql.springbok.record

import org.apache.spark.sql.springbok.reason.Reason

/**
 * What an applied filter takes and prunes.
 *
 * @param bytes
 *   size of the key set that rows are tested against
 * @param falsePositiveRate
 *   the fraction of non-matching keys that pass the test
 * @param rowGroups
 *   how many of the scan's row groups are pruned, and how many there are
 * @param pushed
 *   how the scan was told of it, or why it was not; None if that was not asked
 */
final case class FilterEffect(
    bytes: Option[Long] = None,
    falsePositiveRate: Option[Double] = None,
    rowGroups: Option[(Int, Int)] = None,
    pushed: Option[Either[Reason, String]] = None
)

object FilterEffect {
  val none: FilterEffect = FilterEffect()
}

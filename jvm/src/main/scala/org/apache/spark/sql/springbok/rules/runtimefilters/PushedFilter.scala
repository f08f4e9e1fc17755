package org.apache.spark.sql.springbok.rules.runtimefilters

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.SparkPlan

/**
 * A filter as a predicate on a column of a scan. The scan skips partitions, files, row groups and pages by it.
 *
 * @param kind
 *   `in` (every key), `ranges` (several ranges that hold all keys), `minmax`, `min`, `max`, or `buckets` if the scan skips
 *   nothing but buckets
 * @param way
 *   how the scan is told
 * @param rowGroups
 *   how many row groups are pruned by the footers, and how many there are, if all footers were read
 */
final private[springbok] case class PushedFilter(
    kind: String,
    predicate: Expression,
    way: PushWay,
    rowGroups: Option[(Int, Int)] = None
) {
  def kinds: Seq[String] = (kind +: way.kinds).distinct

  def into(p: SparkPlan): SparkPlan = p.transformUp(way.into(predicate))
}

package org.apache.spark.sql.springbok.rules.runtimefilters

import org.apache.spark.sql.catalyst.expressions.{EqualNullSafe, Expression, Literal}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.CatalogFileIndex
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.springbok.catalyst.ScanCopies
import org.apache.spark.util.collection.BitSet

/**
 * A filter as a predicate on a column of a scan. The scan skips partitions, files, row groups and pages by it.
 *
 * @param kind
 *   `in` (every key), `ranges` (several ranges that hold all keys), `minmax`, `min`, `max`, or `buckets` if the scan skips
 *   nothing but buckets
 * @param partition
 *   whether the predicate applies to partitions or to a connector's scan as a whole
 * @param rowGroups
 *   how many row groups are pruned by the footers, and how many there are, if all footers were read
 * @param buckets
 *   the buckets to read, None for all
 */
final private[springbok] case class PushedFilter(
    kind: String,
    predicate: Expression,
    partition: Boolean,
    rowGroups: Option[(Int, Int)],
    buckets: Option[BitSet] = None
) {
  def kinds: Seq[String] = (kind +: buckets.map(_ => PushedFilter.buckets).toSeq).distinct

  def into(p: SparkPlan): SparkPlan = p.transformUp {
    case scan: FileSourceScanExec =>
      val s = buckets.fold(scan)(ScanCopies.withBuckets(scan, _))
      if (partition)
        ScanCopies.withFilters(s, s.dataFilters, s.partitionFilters :+ PushedFilter.onDriver(s, predicate))
      else ScanCopies.withFilters(s, s.dataFilters :+ predicate, s.partitionFilters)
    case b: BatchScanExec => ScanCopies.withRuntimeFilter(b, predicate)
  }
}

private[springbok] object PushedFilter {

  /** The kind of a filter that skips buckets. */
  val buckets = "buckets"

  /**
   * A predicate on partitions, in a form that only the driver evaluates. The metastore fails on long lists and some literals,
   * and it compares strings by a collation of its own.
   */
  private def onDriver(scan: FileSourceScanExec, predicate: Expression): Expression =
    scan.relation.location match {
      case _: CatalogFileIndex => EqualNullSafe(predicate, Literal.TrueLiteral)
      case _ => predicate
    }
}

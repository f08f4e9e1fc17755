package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.{FileSourceScanExec, RowDataSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.sources.Filter
import org.apache.spark.util.collection.BitSet

/** Copies of scans: each line compiles its own, because the parameters of `copy` differ. */
object ScanCopies {

  /** The scan with other filters. */
  def withFilters(
      scan: FileSourceScanExec,
      dataFilters: Seq[Expression],
      partitionFilters: Seq[Expression]
  ): FileSourceScanExec =
    tagged(scan, scan.copy(dataFilters = dataFilters, partitionFilters = partitionFilters))

  /** The scan whose reader gets one more option. */
  def withOption(scan: FileSourceScanExec, key: String, value: String): FileSourceScanExec = {
    val r = scan.relation
    tagged(scan, scan.copy(relation = r.copy(options = r.options + (key -> value))(r.sparkSession)))
  }

  /** The scan of only these buckets. */
  def withBuckets(scan: FileSourceScanExec, buckets: BitSet): FileSourceScanExec =
    tagged(scan, scan.copy(optionalBucketSet = Some(buckets)))

  /** The scan with one more predicate to hand to the connector when it starts. */
  def withRuntimeFilter(scan: BatchScanExec, predicate: Expression): BatchScanExec =
    tagged(scan, scan.copy(runtimeFilters = scan.runtimeFilters :+ predicate))

  /** The same of another scan that the connector has built. */
  def withScan(scan: BatchScanExec, built: Scan): BatchScanExec = tagged(scan, scan.copy(scan = built))

  /** The scan with other conditions, and the rows that it has under them. */
  def withConditions(
      scan: RowDataSourceScanExec,
      conditions: Set[Filter],
      rows: RDD[InternalRow]
  ): RowDataSourceScanExec = tagged(scan, scan.copy(filters = conditions, rdd = rows))

  private def tagged[T <: SparkPlan](scan: T, copy: T): T = {
    copy.copyTagsFrom(scan)
    copy
  }
}

package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, BoundReference}
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.{Scan, SupportsRuntimeV2Filtering}
import org.apache.spark.sql.connector.write.RowLevelOperationTable
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.execution.springbok.RuntimeFilterExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.keys.KeyPredicates
import org.apache.spark.sql.springbok.stats.source.FolderColumns
import org.apache.spark.sql.types.DateType
import org.apache.spark.util.collection.BitSet

/** The columns by which a scan can skip whole files. */
private[springbok] object PrunableColumns {

  /** Whether the files of the scan lie in folders by this column. */
  def partitions(scan: FileSourceScanExec, column: Attribute, conf: SQLConf): Boolean =
    FolderColumns.of(scan.relation).exists(conf.resolver(_, column.name))

  /** Whether a connector's scan takes runtime filters on this column. */
  def names(scan: BatchScanExec, column: Attribute): Boolean = scan.scan match {
    case s: SupportsRuntimeV2Filtering =>
      // Compared by name, because the scan may name columns that this query does not read.
      s.filterAttributes().exists(r => isColumn(r.fieldNames.toSeq, column))
    case _ => false
  }

  /** Whether the table's files lie in partitions by the very values of the column. */
  def identity(table: Table, column: Attribute): Boolean =
    table
      .partitioning()
      .exists(t => t.name == "identity" && t.references.exists(r => isColumn(r.fieldNames.toSeq, column)))

  private def isColumn(names: Seq[String], column: Attribute): Boolean =
    names.size == 1 && SQLConf.get.resolver(names.head, column.name)

  /**
   * The scan objects that nothing else in the query reads through, and that read nothing which the query writes. Subqueries and
   * finished stages count as well. Any other scan would apply a filter for all of its readers, because it keeps the filter for
   * as long as it lives.
   */
  def readOnce(query: SparkPlan): BatchScanExec => Boolean = {
    val readers = new IdentityHashMap[Scan, Int]()
    scans(query).foreach(s => readers.merge(s.scan, 1, _ + _): Unit)
    scan => !scan.table.isInstanceOf[RowLevelOperationTable] && readers.getOrDefault(scan.scan, 0) <= 1
  }

  private def scans(p: SparkPlan): Seq[BatchScanExec] = p match {
    case b: BatchScanExec => Seq(b)
    case q: QueryStageExec => scans(q.plan)
    case a: AdaptiveSparkPlanExec => scans(a.executedPlan)
    case _: ReusedExchangeExec => Nil
    // Its second child also stands under a join.
    case f: RuntimeFilterExec => scans(f.child)
    case _ => (p.children ++ p.subqueries).flatMap(scans)
  }
}

/**
 * Days that an executor's reader takes for neighbouring days. The driver sends a day as the time of its midnight, and the
 * reader makes a day of that time in its own JVM's time zone, which may be another one. Zones from UTC-12 to UTC+14 shift a
 * day by -2 to +1. So ranges are widened by these days, and no list is sent.
 */
private[runtimefilters] object ShiftedDays {

  /** Whether a scan's reader may shift the days of a column. */
  def in(scan: FileSourceScanExec, column: Attribute, conf: SQLConf): Boolean =
    column.dataType == DateType && !conf.datetimeJava8ApiEnabled && !scan.relation.sparkSession.sparkContext.isLocal

  /** The first day to ask for, so that this day is found. */
  def first(day: Any): Long = day.asInstanceOf[Number].longValue - 1

  /** The last one. */
  def last(day: Any): Long = day.asInstanceOf[Number].longValue + 2
}

/**
 * The buckets of a scan that hold a key of a build side. Files of other buckets are not opened. Spark does the same for
 * literals in a query, if the table is bucketed by a single column.
 *
 * '''Why the answer cannot change''': a row lies in the bucket of its value, by the hash that is computed here, so a row in
 * another bucket has no match.
 */
private[connectors] object BucketPruning {

  /** None if the scan's table is not bucketed by the column, or if every bucket is needed. */
  def of(scan: FileSourceScanExec, column: Attribute, keys: Seq[Any], conf: SQLConf): Option[BitSet] =
    scan.relation.bucketSpec
      .filter(b => conf.bucketingEnabled && b.numBuckets > 1)
      .filter(b => b.bucketColumnNames.size == 1 && conf.resolver(b.bucketColumnNames.head, column.name))
      .flatMap { spec =>
        val key = BoundReference(0, column.dataType, nullable = false)
        val bucket = HashPartitioning(Seq(key), spec.numBuckets).partitionIdExpression
        val found = new BitSet(spec.numBuckets)
        keys
          .flatMap(KeyPredicates.literal(_, column.dataType))
          .foreach(k => found.set(bucket.eval(InternalRow(k.value)).asInstanceOf[Int]))
        val read = scan.optionalBucketSet.fold(found)(_ & found)
        Option.when(read.cardinality() < scan.optionalBucketSet.fold(spec.numBuckets)(_.cardinality()))(read)
      }
}

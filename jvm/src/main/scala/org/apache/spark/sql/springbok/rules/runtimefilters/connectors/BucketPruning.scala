package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, BoundReference}
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.keys.KeyPredicates
import org.apache.spark.util.collection.BitSet

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

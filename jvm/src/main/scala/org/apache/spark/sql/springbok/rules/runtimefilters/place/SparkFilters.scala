package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/** Filters of joins' other sides that Spark has put on a scan itself: a second one on the same key removes nothing. */
private[springbok] object SparkFilters {

  /**
   * Whether a scan, with the filter on it, is filtered by Spark already.
   *
   * @param key
   *   the key at the scan
   * @param buildKey
   *   the key of the build side
   * @param broadcast
   *   whether the build side is broadcast: most pruning of partitions is given up if it is not
   */
  def cover(scan: SparkPlan, key: Expression, buildKey: Expression, broadcast: Boolean): Boolean =
    scan match {
      case FilterExec(condition, child) => tests(condition, key) || prunes(child, key, buildKey, broadcast)
      case other => prunes(other, key, buildKey, broadcast)
    }

  /** Spark's bloom filter, whatever it is made of: of a key that is joined once it is the same build side. */
  private def tests(condition: Expression, key: Expression): Boolean = condition.exists {
    case BloomFilterMightContain(_, XxHash64(Seq(tested), _)) => tested.semanticEquals(key)
    case _ => false
  }

  private def prunes(scan: SparkPlan, key: Expression, buildKey: Expression, broadcast: Boolean): Boolean = {
    val filters = scan match {
      case s: FileSourceScanExec => s.partitionFilters
      case b: BatchScanExec => b.runtimeFilters
      case _ => Nil
    }
    filters.exists {
      case DynamicPruningExpression(InSubqueryExec(pruned, s: SubqueryAdaptiveBroadcastExec, _, _, _, _)) =>
        pruned.semanticEquals(key) && (broadcast || !s.onlyInBroadcast) &&
        s.indices.exists(i => s.buildKeys(i).semanticEquals(buildKey))
      case _ => false
    }
  }
}

package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.springbok.catalyst.{HiveScan, SparkPlanning}
import org.apache.spark.sql.springbok.keys.TriedKey

/** Filters that Spark itself has put on a scan. A second filter on the same key removes nothing. */
private[springbok] object SparkFilters {

  /** Whether Spark's bloom filter tests this key of a scan. A key that is joined once has only one build side. */
  def test(scan: SparkPlan, key: Expression): Boolean = scan match {
    case FilterExec(condition, _) =>
      condition.exists {
        case BloomFilterMightContain(_, XxHash64(Seq(tested), _)) =>
          tested.semanticEquals(TriedKey.untried(key))
        case _ => false
      }
    case _ => false
  }

  /**
   * Whether Spark prunes a scan's partitions by this key.
   *
   * @param scan
   *   the scan, with the query's own filter on it
   * @param key
   *   the key at the scan
   * @param buildKey
   *   the key of the build side
   * @param broadcast
   *   whether the build side is broadcast. If not, Spark gives up most partition pruning
   */
  def prune(scan: SparkPlan, key: Expression, buildKey: Expression, broadcast: Boolean): Boolean =
    scan match {
      case FilterExec(_, child) => prunes(child, key, buildKey, broadcast)
      case other => prunes(other, key, buildKey, broadcast)
    }

  /** The expressions of a scan by which Spark prunes its partitions, also at run time. */
  def pruning(scan: SparkPlan): Seq[Expression] = scan match {
    case s: FileSourceScanExec => s.partitionFilters
    case b: BatchScanExec => b.runtimeFilters
    case HiveScan(_) => scan.expressions
    case _ => Nil
  }

  /** The columns of the keys that each dynamic pruning of an expression reads; None if they are not known. */
  def pruningKeys(e: Expression): Seq[Option[AttributeSet]] = e.collect {
    case DynamicPruningExpression(InSubqueryExec(_, s: SubqueryAdaptiveBroadcastExec, _, _, _, _)) =>
      Some(AttributeSet(SparkPlanning.pruningKeys(s)))
    case DynamicPruningExpression(_: Literal) => Some(AttributeSet.empty)
    case _: DynamicPruning => None
  }

  private def prunes(scan: SparkPlan, key: Expression, buildKey: Expression, broadcast: Boolean): Boolean =
    pruning(scan).exists {
      case DynamicPruningExpression(InSubqueryExec(pruned, s: SubqueryAdaptiveBroadcastExec, _, _, _, _)) =>
        pruned.semanticEquals(TriedKey.untried(key)) && (broadcast || !s.onlyInBroadcast) &&
        SparkPlanning.pruningKeys(s).exists(_.semanticEquals(buildKey))
      case _ => false
    }
}

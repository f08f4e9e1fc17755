package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins._

/**
 * The joins whose result is made of the pairs of rows that match, each pair independent of all others. An as-of join of Spark 4.3
 * is none: a row takes the nearest one of the other side, which is another one if that is missing.
 */
private[springbok] object PairwiseJoin {
  def unapply(p: SparkPlan): Option[BaseJoinExec] = p match {
    case j: BroadcastHashJoinExec => Some(j)
    case j: ShuffledHashJoinExec => Some(j)
    case j: SortMergeJoinExec => Some(j)
    case j: BroadcastNestedLoopJoinExec => Some(j)
    case j: CartesianProductExec => Some(j)
    case _ => None
  }
}

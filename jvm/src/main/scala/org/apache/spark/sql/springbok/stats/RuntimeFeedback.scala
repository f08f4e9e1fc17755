package org.apache.spark.sql.springbok.stats

import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec

/** What the stages of a query tell beyond their own statistics, while the query runs. */
trait RuntimeFeedback {

  /** Fraction of its rows that a stage is expected to retain after all runtime filters in it. */
  def retained(stage: SparkPlan): Double

  /**
   * Fraction of its input that a join's own runtime filters have retained in the stages of one of its sides, by testing each
   * row; None if there are no such filters.
   */
  def retainedFor(join: Join, side: LogicalPlan): Option[Double]

  /** Whether no two rows of a finished broadcast have the same keys; None if that is not known. */
  def keysAreUnique(broadcast: BroadcastQueryStageExec): Option[Boolean]
}

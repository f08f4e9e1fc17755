package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.plans.logical.JoinStrategyHint
import org.apache.spark.sql.execution.adaptive.{CostEvaluator, SimpleCostEvaluator}
import org.apache.spark.sql.internal.SQLConf

/** Adaptive execution, where versions of Spark differ. */
object SparkAdaptive {

  /** The cost evaluator that Spark takes if none is set. */
  def costEvaluator(conf: SQLConf): CostEvaluator = SimpleCostEvaluator(
    conf.getConf(SQLConf.ADAPTIVE_FORCE_OPTIMIZE_SKEWED_JOIN),
    conf.getConf(SQLConf.ADAPTIVE_COST_EVALUATOR_COUNT_LOCAL_SORT_ENABLED)
  )

  /** Whether the hint, which Spark's own rules set, prefers a shuffled hash join: this version has no such hint. */
  def prefersShuffledHash(hint: JoinStrategyHint): Boolean = false
}

package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.plans.logical.{JoinStrategyHint, PREFER_SHUFFLE_HASH}
import org.apache.spark.sql.execution.adaptive.{CostEvaluator, SimpleCostEvaluator}
import org.apache.spark.sql.internal.SQLConf

/** Adaptive execution, where versions of Spark differ. */
object SparkAdaptive {

  /** The cost evaluator that Spark takes if none is set. */
  def costEvaluator(conf: SQLConf): CostEvaluator =
    SimpleCostEvaluator(conf.getConf(SQLConf.ADAPTIVE_FORCE_OPTIMIZE_SKEWED_JOIN))

  /** Whether the hint, which Spark's own rules set, prefers a shuffled hash join. */
  def prefersShuffledHash(hint: JoinStrategyHint): Boolean = hint == PREFER_SHUFFLE_HASH
}

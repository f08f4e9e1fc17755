package org.apache.spark.sql.execution.springbok

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{Cost, CostEvaluator, SimpleCostEvaluator}
import org.apache.spark.sql.internal.SQLConf

/**
 * Spark's own cost of a plan in adaptive execution, its number of shuffles, without counting the build sides that hang on
 * scans as edges: they are run once, under their joins. Without edges it is exactly Spark's.
 */
class EdgeBlindCostEvaluator extends CostEvaluator {
  override def evaluateCost(plan: SparkPlan): Cost = {
    val bare = plan.transformUp { case f: RuntimeFilterExec => f.child }
    SimpleCostEvaluator(SQLConf.get.getConf(SQLConf.ADAPTIVE_FORCE_OPTIMIZE_SKEWED_JOIN)).evaluateCost(bare)
  }
}

package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

object PlanInputs {

  /** The inputs of an operator: its children, or for a stage or a cached table the plan that computes it. */
  def of(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case q: QueryStageExec => Seq(q.plan)
    case a: AdaptiveSparkPlanExec => Seq(a.inputPlan)
    // Lost blocks are computed again.
    case m: InMemoryTableScanExec => Seq(m.relation.cachedPlan)
    case r: ReusedExchangeExec => Seq(r.child)
    case p => p.children
  }
}

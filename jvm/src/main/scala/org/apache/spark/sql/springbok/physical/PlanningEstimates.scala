package org.apache.spark.sql.springbok.physical

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.springbok.record.PlanningState
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/** Estimates of one planning, with what the stages tell that run or have finished. */
private[springbok] object PlanningEstimates {

  def apply(lasting: PlanStats.Lasting): PlanStats = new PlanStats(Some(new StageFeedback), lasting)

  /** Those of the rule before, or new ones if it has not asked for any. */
  def of(plan: SparkPlan, query: PlanningState): PlanStats =
    query.takeOver(plan).getOrElse(apply(query.lasting))
}

package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Subquery}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.springbok.catalyst.RuleGuard
import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.apache.spark.sql.springbok.cost.PlanningBudget
import org.apache.spark.sql.springbok.record.{JoinState, PlanningState}

/**
 * Decides once whether a query has enough data to be planned ([[PlanningBudget]]). The rules after it leave the others alone.
 *
 * '''Why the answer cannot change''': the plan stays as it is.
 *
 * '''Setting''': `spark.springbok.planning.budget`.
 */
object LeaveToSpark extends Rule[LogicalPlan] {
  def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case _ if !conf.getConf(SpringbokConf.ENABLED) || plan.isStreaming => plan
    // A correlated subquery is planned again as part of its outer query.
    case s: Subquery if s.correlated => plan
    // The batch runs until nothing changes.
    case _ if PlanningState.isLeft(plan) || plan.exists(JoinState.of(_).isDefined) => plan
    case _ if !plan.exists(_.isInstanceOf[Join]) => plan
    case _ =>
      lazy val record = PlanningState.ofQuery(plan)
      RuleGuard("LeaveToSpark", plan, Some(record)) {
        PlanningBudget.exceeded(plan, conf).foreach(PlanningState.leave(plan, record, _))
        plan
      }
  }
}

package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.springbok.catalyst.RuleGuard
import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.apache.spark.sql.springbok.record.{JoinState, PlanningState}
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/**
 * Makes the choice of [[ChooseJoinStrategy]] again after a query stage has finished, for the joins that the first choice
 * saw. The argument why the answer cannot change is the same.
 */
object ReviseJoinStrategy extends Rule[LogicalPlan] {
  def apply(plan: LogicalPlan): LogicalPlan =
    if (!conf.getConf(SpringbokConf.ENABLED) || !plan.exists(_.isInstanceOf[Join])) plan
    else {
      val record = PlanningState.of(plan)
      RuleGuard("ReviseJoinStrategy", plan, record) {
        val chooser = JoinChooser.of(plan, record.fold(new PlanStats.Lasting)(_.lasting))
        plan.transformUp {
          case j: Join if j.getTagValue(JoinState.tag).isDefined =>
            chooser.revise(j, j.getTagValue(JoinState.tag).get)
        }
      }
    }
}

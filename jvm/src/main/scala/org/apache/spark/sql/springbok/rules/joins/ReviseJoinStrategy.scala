package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage, QueryStageExec}
import org.apache.spark.sql.springbok.catalyst.{RuleGuard, SparkPlanning}
import org.apache.spark.sql.springbok.conf.{JoinConf, SpringbokConf}
import org.apache.spark.sql.springbok.cost.Strategy
import org.apache.spark.sql.springbok.record.{JoinState, PlanningState, Revised}

/**
 * Makes the choice of [[ChooseJoinStrategy]] again after a query stage has finished, for the joins that the first choice
 * saw. The argument why the answer cannot change is the same.
 *
 * '''When it leaves a join as it is''': it has decided this very join before, and no stage below it has finished since; of a
 * decision that counts on filters of joins above, no stage of the plan. Only what the query's other joins hold in memory may
 * have changed.
 */
object ReviseJoinStrategy extends Rule[LogicalPlan] {
  def apply(plan: LogicalPlan): LogicalPlan =
    if (!SpringbokConf.plans(conf)) plan
    else
      plan.collectFirst(Function.unlift(JoinState.of)).fold(plan) { join =>
        RuleGuard("ReviseJoinStrategy", plan, Some(join.query))(revised(plan, join.query))
      }

  private def revised(plan: LogicalPlan, query: PlanningState): LogicalPlan = {
    lazy val all = finished(plan)
    JoinChooser.decide(plan, query) { (j, above, chooser) =>
      JoinState.of(j).fold(j) { state =>
        val stages = if (state.strategies.filteredAbove) all else finished(j)
        if (state.strategies.revised.exists(_.stands(j, stages))) j
        else {
          val decided = if (isSettled(j)) settled(j, state) else chooser().revise(j, above, state)
          state.decide(_.copy(revised = Some(Revised(decided, stages))))
          decided
        }
      }
    }
  }

  private def isSettled(j: Join): Boolean = conf.getConf(JoinConf.ENABLED) && JoinChooser.hasStarted(j)

  /** What was decided before the broadcast began still says why. */
  private def settled(j: Join, state: JoinState): Join = ApplyHint(j, state, Strategy.Spark, decided = None)

  private def finished(p: LogicalPlan): Set[Int] = p
    .collect {
      case s: LogicalQueryStage if SparkPlanning.isMaterialized(s) =>
        s.physicalPlan.collect { case q: QueryStageExec => q.id }
    }
    .flatten
    .toSet
}

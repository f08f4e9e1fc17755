package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.springbok.catalyst.{OverwrittenInput, RuleGuard}
import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.apache.spark.sql.springbok.cost.PlanningBudget
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{JoinState, PlanningState}

/**
 * Decides once whether a query is planned. A query is left to Spark if it is excluded (`LeaveGuarded`), if it has too little data
 * ([[PlanningBudget]]), or if it overwrites files that it reads ([[OverwrittenInput]]). The rules after this one leave such a query alone.
 *
 * '''Why the answer cannot change''': the plan stays as it is.
 *
 * '''Setting''': `spark.springbok.planning.budget`.
 */
object LeaveToSpark extends Rule[LogicalPlan] {
  def apply(plan: LogicalPlan): LogicalPlan = plan match {
    // The batch runs until nothing changes.
    case _ if !SpringbokConf.plans(conf) || PlanningState.isLeftToSpark(plan) => plan
    case _ if !plan.exists(_.isInstanceOf[Join]) || plan.exists(JoinState.of(_).isDefined) => plan
    case _ =>
      val excluded = PlanningState.whyExcluded(plan)
      if (excluded.isEmpty && PlanningState.leavesAlone(plan, conf)) plan else decided(plan, excluded)
  }

  private def decided(plan: LogicalPlan, excluded: Option[Reason]): LogicalPlan = {
    lazy val query = PlanningState.adoptQuery(plan)
    RuleGuard("LeaveToSpark", plan, Some(query)) {
      excluded
        .orElse(Option.when(OverwrittenInput.in(plan))(Reason.overwritesInput))
        .orElse(PlanningBudget.exceeded(plan, conf))
        .foreach(PlanningState.leaveToSpark(plan, query, _))
      plan
    }
  }
}

/**
 * Joins below an expression that tells which file its task has open, as `input_file_name()` does. It is a file of the side
 * that the join streams, and there is none after a shuffle.
 */
private[springbok] object OpenFile {
  private val tag = TreeNodeTag[Unit]("springbok.openFile")

  def isRead(j: Join): Boolean = j.getTagValue(tag).isDefined

  /** Tags such joins of the plan. */
  def mark(plan: LogicalPlan): Unit = plan.foreach { p =>
    // A non-deterministic expression makes those above it so, and whether one is deterministic is remembered.
    if (p.expressions.exists(e => !e.deterministic && e.exists(readsFileName)))
      p.children.foreach(_.foreach {
        case j: Join => j.setTagValue(tag, ())
        case _ =>
      })
  }

  private def readsFileName(e: Expression): Boolean = e match {
    case _: InputFileName | _: InputFileBlockStart | _: InputFileBlockLength => true
    case _ => false
  }
}

package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage

/** Kinds of leaves with the names of their columns. */
private[springbok] object LeafNames {

  /**
   * A cheap value that is the same for equal plans, and another one for most others. A stage stands for the plan that it was
   * made from.
   */
  def of(plan: LogicalPlan): Seq[Seq[String]] = plan.collectLeaves().flatMap {
    case s: LogicalQueryStage => of(s.logicalPlan)
    case leaf => Seq(leaf.getClass.getName +: leaf.output.map(_.name))
  }
}

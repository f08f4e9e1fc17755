package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreeNodeTag

/**
 * Joins whose result is read by few tasks, for example after `coalesce(1)`. Without a shuffle in between, those tasks compute
 * the join as well. A broadcast would take away the shuffle that lets the whole cluster read the probe side.
 */
private[springbok] object FewTasks {
  private val tag = TreeNodeTag[Unit]("springbok.fewTasks")

  def isReadByFew(j: Join): Boolean = j.getTagValue(tag).isDefined

  /** Tags such joins of the plan. */
  def mark(plan: LogicalPlan, cores: Int): Unit = plan.foreach {
    case Repartition(n, false, child) if n < cores => within(child)
    case _ =>
  }

  /** Down to what has a shuffle of its own. */
  private def within(p: LogicalPlan): Unit = p match {
    case j: Join =>
      j.setTagValue(tag, ())
      j.children.foreach(within)
    case _: Project | _: Filter | _: SubqueryAlias | _: Generate | _: Union | _: LocalLimit |
        _: ResolvedHint =>
      p.children.foreach(within)
    case r: Repartition if !r.shuffle => within(r.child)
    case _ =>
  }
}

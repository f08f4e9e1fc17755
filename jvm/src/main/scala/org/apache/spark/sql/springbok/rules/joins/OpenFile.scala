package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreeNodeTag

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

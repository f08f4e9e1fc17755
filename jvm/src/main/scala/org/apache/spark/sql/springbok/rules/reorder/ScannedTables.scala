package org.apache.spark.sql.springbok.rules.reorder

import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, OneRowRelation, Range}

/** The leaves that a plan reads, without those whose rows are in the query itself. */
private[reorder] object ScannedTables {
  def apply(p: LogicalPlan): Seq[LogicalPlan] = p.collectLeaves().filter {
    case _: LocalRelation | _: OneRowRelation | _: Range => false
    case _ => true
  }
}

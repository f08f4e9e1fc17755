package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, UnaryNode}

/**
 * On an aggregate: each partition's rows are aggregated by themselves, as [[org.apache.spark.sql.catalyst.plans.logical.LocalLimit]]
 * limits them. A group has a row in each partition that has rows of it, so its keys are not unique. It needs no exchange.
 *
 * The aggregate stays an operator of Spark's, because Spark allows aggregate functions nowhere else.
 *
 * @param retained
 *   expected rows as a fraction of those that are aggregated
 */
final case class LocalAggregate(retained: Double, child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output

  // Adaptive execution may have put something else in the aggregate's place, such as no rows.
  override def maxRows: Option[Long] = child match {
    case a: Aggregate => a.child.maxRows
    case other => other.maxRows
  }
  override protected def withNewChildInternal(newChild: LogicalPlan): LocalAggregate = copy(child = newChild)
}

package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

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
  override def maxRows: Option[Long] = child.children.head.maxRows
  override protected def withNewChildInternal(newChild: LogicalPlan): LocalAggregate = copy(child = newChild)
}

package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, UnaryNode}

/**
 * Aggregates the rows of each partition by themselves, as [[org.apache.spark.sql.catalyst.plans.logical.LocalLimit]] limits them:
 * a group has one row in each partition that has rows of it, so its keys are not unique. It needs no exchange.
 *
 * @param groupingExpressions
 *   columns of the child
 * @param aggregateExpressions
 *   the grouping columns, and after them an alias of an aggregate function each
 * @param retained
 *   expected rows as a fraction of the child's
 */
final case class LocalAggregate(
    groupingExpressions: Seq[Attribute],
    aggregateExpressions: Seq[NamedExpression],
    retained: Double,
    child: LogicalPlan
) extends UnaryNode {
  override def output: Seq[Attribute] = aggregateExpressions.map(_.toAttribute)
  override def maxRows: Option[Long] = child.maxRows
  override protected def withNewChildInternal(newChild: LogicalPlan): LocalAggregate = copy(child = newChild)
}

/** An aggregate of all rows or of those of each partition: its keys and its child. */
private[springbok] object Grouped {
  def unapply(p: LogicalPlan): Option[(Seq[Expression], Seq[NamedExpression], LogicalPlan)] = p match {
    case a: Aggregate => Some((a.groupingExpressions, a.aggregateExpressions, a.child))
    case l: LocalAggregate => Some((l.groupingExpressions, l.aggregateExpressions, l.child))
    case _ => None
  }
}

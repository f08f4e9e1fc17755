package org.apache.spark.sql.springbok.rules.shuffles

import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, RepartitionByExpression}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan

/**
 * Marks what a query repartitions into a number of partitions of its own. Where that lies by the same columns in as many
 * partitions already, Spark leaves the query's exchange out, and the number is that of an exchange which Spark has put in.
 *
 * '''Why the answer cannot change''': the plan stays as it is.
 */
object MarkRepartitions extends Rule[LogicalPlan] {
  private val tag = TreeNodeTag[Unit]("springbok.repartitioned")

  def apply(plan: LogicalPlan): LogicalPlan = {
    plan.foreach {
      case r: RepartitionByExpression if r.optNumPartitions.isDefined => r.child.setTagValue(tag, ())
      case _ => ()
    }
    plan
  }

  /** Whether the rows of this plan's result are to lie in a number of partitions that the query asks for. */
  def isMarked(p: SparkPlan): Boolean = p.logicalLink.exists(_.getTagValue(tag).isDefined)
}

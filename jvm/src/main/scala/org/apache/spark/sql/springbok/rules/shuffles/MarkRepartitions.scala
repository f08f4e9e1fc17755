package org.apache.spark.sql.springbok.rules.shuffles

import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, RepartitionByExpression}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.catalyst.trees.TreePattern.REPARTITION_OPERATION
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.springbok.catalyst.RuleGuard

/**
 * Marks what a query repartitions into a given number of partitions. If the rows are already partitioned by the same columns
 * into the same number, Spark drops the query's exchange, and an exchange that Spark has added must keep the number.
 *
 * '''When''': always. [[ChooseShuffleWriter]] runs later, and the session may have been switched on in between.
 *
 * '''Why the answer cannot change''': the plan stays as it is.
 */
object MarkRepartitions extends Rule[LogicalPlan] {
  private val tag = TreeNodeTag[Unit]("springbok.repartitioned")

  def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.containsPattern(REPARTITION_OPERATION)) plan
    else
      RuleGuard("MarkRepartitions", plan, None) {
        plan.foreach {
          case r: RepartitionByExpression if r.optNumPartitions.isDefined => r.child.setTagValue(tag, ())
          case _ => ()
        }
        plan
      }

  /** Whether the query asks for the number of partitions of this plan's rows. */
  def isMarked(p: SparkPlan): Boolean = p.logicalLink.exists(_.getTagValue(tag).isDefined)
}

package org.apache.spark.sql.springbok.rules.aggregates

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeMap}
import org.apache.spark.sql.catalyst.expressions.aggregate.{
  AggregateExpression,
  DeclarativeAggregate,
  Partial
}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.aggregate.HashAggregateExec
import org.apache.spark.sql.springbok.catalyst.{LocalAggregate, RuleGuard}
import org.apache.spark.sql.springbok.record.PlanningState

/**
 * Plans a [[LocalAggregate]] as the partial phase of Spark's hash aggregate, and a projection that makes results of its buffers.
 *
 * '''Why the answer cannot change''': that phase groups the rows of a partition, and whatever memory it has, it gives each row to
 * one buffer. A group may come in several rows. The aggregate above the joins takes any number of them.
 */
object PlanLocalAggregate extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case LocalAggregate(_, a: Aggregate) =>
      // The mark may be ignored: then it is a usual aggregate.
      RuleGuard("PlanLocalAggregate", Seq(planLater(a)), PlanningState.of(a))(Seq(planned(a)))
    case LocalAggregate(_, child) => Seq(planLater(child))
    case _ => Nil
  }

  private def planned(a: Aggregate): SparkPlan = {
    val grouping = a.groupingExpressions.collect { case k: Attribute => k }
    val functions = a.aggregateExpressions.collect { case Alias(e: AggregateExpression, _) =>
      e.copy(mode = Partial)
    }
    val partial = HashAggregateExec(
      requiredChildDistributionExpressions = None,
      isStreaming = false,
      numShufflePartitions = None,
      groupingExpressions = grouping,
      aggregateExpressions = functions,
      aggregateAttributes = functions.flatMap(_.aggregateFunction.aggBufferAttributes),
      initialInputBufferOffset = 0,
      resultExpressions = grouping ++ functions.flatMap(_.aggregateFunction.inputAggBufferAttributes),
      child = planLater(a.child)
    )
    val results = a.aggregateExpressions.map {
      case f @ Alias(e: AggregateExpression, name) => Alias(result(e), name)(f.exprId)
      case key => key
    }
    if (functions.isEmpty) partial else ProjectExec(results, partial)
  }

  /** The function's result, computed of the buffer that the partial phase gives. */
  private def result(e: AggregateExpression) = e.aggregateFunction match {
    case f: DeclarativeAggregate =>
      val buffer = AttributeMap(f.aggBufferAttributes.zip(f.inputAggBufferAttributes))
      f.evaluateExpression.transform { case a: Attribute => buffer.getOrElse(a, a) }
    case f => throw new IllegalStateException(s"${f.prettyName} has no expression for its result.")
  }
}

package org.apache.spark.sql.execution.springbok

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildSide}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{Cost, CostEvaluator}
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.execution.joins.{BaseJoinExec, BroadcastHashJoinExec, BroadcastNestedLoopJoinExec}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.SparkAdaptive
import org.apache.spark.sql.springbok.cost.Strategy
import org.apache.spark.sql.springbok.record.JoinState

/**
 * Spark's own cost of a plan in adaptive execution, its number of shuffles, with one exception: of two plans the one with
 * fewer revoked broadcasts wins, whatever it shuffles. A broadcast is revoked if the sizes that are known by now speak against
 * it. Otherwise a broadcast planned on a wrong estimate could never become a shuffle. A broadcast that runs already is a stage
 * and does not count.
 */
class SpringbokCostEvaluator extends CostEvaluator {
  override def evaluateCost(plan: SparkPlan): Cost = {
    val shuffles = SparkAdaptive.costEvaluator(SQLConf.get).evaluateCost(plan)
    PlanCost(plan.collect { case j: BaseJoinExec if isRevoked(j) => j }.size, shuffles)
  }

  private def isRevoked(j: BaseJoinExec): Boolean = j match {
    case b: BroadcastHashJoinExec =>
      notStarted(b, b.buildSide) && decidedAgainst(b, Strategy.Broadcast(b.buildSide))
    case n: BroadcastNestedLoopJoinExec =>
      notStarted(n, n.buildSide) && decidedAgainst(n, Strategy.NestedLoop(n.buildSide))
    case _ => false
  }

  private def notStarted(j: BaseJoinExec, side: BuildSide): Boolean =
    (if (side == BuildLeft) j.left else j.right).isInstanceOf[BroadcastExchangeExec]

  private def decidedAgainst(j: BaseJoinExec, has: Strategy): Boolean = JoinState
    .of(j)
    .flatMap(_.latest)
    .map(_.choice.chosen)
    .exists(chosen => chosen != has && chosen != Strategy.Spark)
}

/**
 * @param revoked
 *   broadcasts that would not be chosen any more
 * @param shuffles
 *   Spark's cost
 */
final private case class PlanCost(revoked: Int, shuffles: Cost) extends Cost {
  override def compare(that: Cost): Int = that match {
    case PlanCost(r, s) => if (revoked == r) shuffles.compare(s) else revoked.compare(r)
    case other => shuffles.compare(other)
  }
}

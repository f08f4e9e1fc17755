package org.apache.spark.sql.execution.springbok

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildSide}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{Cost, CostEvaluator, SimpleCostEvaluator}
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.execution.joins.{BaseJoinExec, BroadcastHashJoinExec, BroadcastNestedLoopJoinExec}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.cost.Strategy
import org.apache.spark.sql.springbok.record.JoinState

/**
 * Spark's own cost of a plan in adaptive execution, its number of shuffles, but for two things. Build sides that hang on
 * scans as edges are not counted: they are run once, under their joins. And of two plans the one with fewer broadcasts
 * that have been decided against, since the sizes are known, wins whatever it shuffles: else a broadcast planned on a
 * wrong estimate could never become a shuffle. A broadcast that runs already is a stage and does not count.
 */
class EdgeBlindCostEvaluator extends CostEvaluator {
  override def evaluateCost(plan: SparkPlan): Cost = {
    val bare = withoutEdges(plan)
    val shuffles = SimpleCostEvaluator(SQLConf.get.getConf(SQLConf.ADAPTIVE_FORCE_OPTIMIZE_SKEWED_JOIN))
      .evaluateCost(bare)
    PlanCost(bare.collect { case j: BaseJoinExec if overtaken(j) => j }.size, shuffles)
  }

  /** Build sides are not entered from the scans that they hang on. */
  private def withoutEdges(p: SparkPlan): SparkPlan = p match {
    case f: RuntimeFilterExec => withoutEdges(f.child)
    case _ => p.mapChildren(withoutEdges)
  }

  private def overtaken(j: BaseJoinExec): Boolean = j match {
    case b: BroadcastHashJoinExec => waits(b, b.buildSide) && revoked(b, Strategy.Broadcast(b.buildSide))
    case n: BroadcastNestedLoopJoinExec =>
      waits(n, n.buildSide) && revoked(n, Strategy.NestedLoop(n.buildSide))
    case _ => false
  }

  private def waits(j: BaseJoinExec, side: BuildSide): Boolean =
    (if (side == BuildLeft) j.left else j.right).isInstanceOf[BroadcastExchangeExec]

  private def revoked(j: BaseJoinExec, has: Strategy): Boolean = JoinState
    .of(j)
    .flatMap(_.chosen)
    .exists(latest => latest != has && latest != Strategy.Spark)
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

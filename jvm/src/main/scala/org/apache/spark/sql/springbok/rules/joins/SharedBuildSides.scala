package org.apache.spark.sql.springbok.rules.joins

import java.util.IdentityHashMap

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage

/**
 * How many joins of a plan could look up the same broadcast: Spark makes a broadcast once for all build sides that are
 * the same rows with the same keys. Only sides without a join of their own are looked at: dimensions that a query reads
 * again in each branch of a union or each use of a CTE.
 */
final private[springbok] class SharedBuildSides(plan: LogicalPlan) {
  private type Broadcast = (LogicalPlan, Seq[Expression])

  private lazy val uses: Map[Broadcast, Int] = {
    val counts = mutable.Map.empty[Broadcast, Int].withDefaultValue(0)
    plan.foreach {
      case j @ ExtractEquiJoinKeys(_, lk, rk, _, _, _, _, _) =>
        for ((side, keys) <- Seq(j.left -> lk, j.right -> rk); b <- broadcast(side, keys)) counts(b) += 1
      case _ =>
    }
    counts.toMap
  }

  /** Joins that a broadcast of this side by these keys would serve, at least 1. */
  def of(side: LogicalPlan, keys: Seq[Expression]): Int =
    broadcast(side, keys).flatMap(uses.get).getOrElse(1)

  private val rows = new IdentityHashMap[LogicalPlan, Option[LogicalPlan]]()

  private def broadcast(side: LogicalPlan, keys: Seq[Expression]): Option[Broadcast] =
    rows
      .computeIfAbsent(
        side,
        p =>
          Option.when(!joins(p)) {
            // A stage that has started stands for the plan that it was made of.
            p.transformUp { case s: LogicalQueryStage => s.logicalPlan }.canonicalized
          }
      )
      .map(_ -> keys.map(QueryPlan.normalizeExpressions(_, side.output)))

  private def joins(p: LogicalPlan): Boolean = p.exists {
    case _: Join => true
    case s: LogicalQueryStage => joins(s.logicalPlan)
    case _ => false
  }
}

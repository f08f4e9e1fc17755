package org.apache.spark.sql.springbok.rules.joins

import java.util.IdentityHashMap

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
  private type Leaves = Seq[Seq[String]]

  /** Canonical forms are expensive: only sides of equal leaves are compared. */
  private lazy val alike: Map[Leaves, Seq[(LogicalPlan, Seq[Expression])]] = {
    val sides = plan.collect { case j @ ExtractEquiJoinKeys(_, lk, rk, _, _, _, _, _) =>
      Seq(j.left -> lk, j.right -> rk)
    }.flatten
    sides.groupBy { case (side, _) => leaves(side) }.filter { case (of, same) => of.nonEmpty && same.size > 1 }
  }

  private lazy val uses: Map[Broadcast, Int] =
    alike.values.flatten.toSeq.groupBy { case (side, keys) => broadcast(side, keys) }.map { case (b, same) =>
      b -> same.size
    }

  /** Joins that a broadcast of this side by these keys would serve, at least 1. */
  def of(side: LogicalPlan, keys: Seq[Expression]): Int =
    if (alike.contains(leaves(side))) uses.getOrElse(broadcast(side, keys), 1) else 1

  private val rows = new IdentityHashMap[LogicalPlan, LogicalPlan]()

  private def broadcast(side: LogicalPlan, keys: Seq[Expression]): Broadcast = {
    // A stage that has started stands for the plan that it was made of.
    def planned(p: LogicalPlan) = p.transformUp { case s: LogicalQueryStage => s.logicalPlan }.canonicalized
    rows.computeIfAbsent(side, planned(_)) -> keys.map(QueryPlan.normalizeExpressions(_, side.output))
  }

  /** A cheap value that is the same for equal sides, and another one for most others; empty for sides with a join. */
  private def leaves(p: LogicalPlan): Leaves = p match {
    case _: Join => Nil
    case s: LogicalQueryStage => leaves(s.logicalPlan)
    case leaf if leaf.children.isEmpty => Seq(leaf.nodeName +: leaf.output.map(_.name))
    case _ =>
      val below = p.children.map(leaves)
      if (below.exists(_.isEmpty)) Nil else below.flatten
  }
}

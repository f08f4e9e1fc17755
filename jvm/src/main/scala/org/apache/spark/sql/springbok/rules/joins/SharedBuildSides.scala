package org.apache.spark.sql.springbok.rules.joins

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage
import org.apache.spark.sql.springbok.catalyst.LeafNames

/**
 * How many joins of a plan could look up the same broadcast: Spark makes a broadcast once for all build sides that are
 * the same rows with the same keys. Only sides without a join of their own are looked at: dimensions that a query reads
 * again in each branch of a union or each use of a CTE.
 */
final private[springbok] class SharedBuildSides(plan: LogicalPlan) {
  private type Side = (LogicalPlan, Seq[Expression])

  /** Canonical forms are expensive: only sides of equal leaves are compared. */
  private lazy val alike: Map[Seq[Seq[String]], Seq[Side]] = {
    val sides = plan.collect { case j @ ExtractEquiJoinKeys(_, lk, rk, _, _, _, _, _) =>
      Seq(j.left -> lk, j.right -> rk)
    }.flatten
    sides
      .filterNot { case (side, _) => joins(side) }
      .groupBy { case (side, _) => LeafNames.of(side) }
      .filter(_._2.size > 1)
  }

  private lazy val uses: Map[Side, Int] =
    alike.values.flatten.toSeq.groupBy { case (side, keys) => canonical(side, keys) }.map { case (b, same) =>
      b -> same.size
    }

  /** Joins that a broadcast of this side by these keys would serve, at least 1. */
  def of(side: LogicalPlan, keys: Seq[Expression]): Int =
    if (alike.isEmpty || joins(side) || !alike.contains(LeafNames.of(side))) 1
    else uses.getOrElse(canonical(side, keys), 1)

  private val rows = new IdentityHashMap[LogicalPlan, LogicalPlan]()

  private def canonical(side: LogicalPlan, keys: Seq[Expression]): Side = {
    // A stage that has started stands for the plan that it was made of.
    def planned(p: LogicalPlan) = p.transformUp { case s: LogicalQueryStage => s.logicalPlan }.canonicalized
    rows.computeIfAbsent(side, planned(_)) -> keys.map(QueryPlan.normalizeExpressions(_, side.output))
  }

  private def joins(p: LogicalPlan): Boolean = p.exists {
    case _: Join => true
    case s: LogicalQueryStage => joins(s.logicalPlan)
    case _ => false
  }
}

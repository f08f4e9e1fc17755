package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.JoinSide
import org.apache.spark.sql.springbok.cost.{JoinCost, JoinInput, Strategy}
import org.apache.spark.sql.springbok.record.{JoinDecision, JoinState}

/**
 * Bytes of the hash tables of shuffled hash joins that one task holds when its stage has computed the rows of a plan. A task
 * keeps all of them until it ends.
 */
private[joins] object StageHashTables {

  /** @param plan a side of a join, whose own joins are decided and whose rows stay where they are */
  def of(plan: LogicalPlan, conf: SQLConf): Double = plan match {
    case j: Join => j.getTagValue(JoinState.decisionTag).fold(0.0)(joined(j, _, conf))
    case a: Aggregate if staysInPlace(a.child, a.groupingExpressions, conf) => of(a.child, conf)
    case w: Window if staysInPlace(w.child, w.partitionSpec, conf) => of(w.child, conf)
    case _: Project | _: Filter => of(plan.children.head, conf)
    case s: Sort if !s.global => of(s.child, conf)
    case _ => 0
  }

  private def joined(j: Join, d: JoinDecision, conf: SQLConf): Double = {
    val sides = Seq(JoinSide.Left -> j.left, JoinSide.Right -> j.right)
    (d.input, d.choice.chosen) match {
      case (Some(_), chosen @ (_: Strategy.Broadcast | _: Strategy.NestedLoop)) =>
        val streamed = Strategy.build(chosen).map(JoinSide.of(_).other)
        sides.collectFirst { case (s, p) if streamed.contains(s) => of(p, conf) }.getOrElse(0.0)
      case (Some(in), chosen) =>
        val below = sides.collect { case (s, p) if in.sides(s).layout.partitioned => of(p, conf) }
        below.sum + own(in, chosen)
      case _ => 0
    }
  }

  private def own(in: JoinInput, chosen: Strategy): Double = chosen match {
    case Strategy.ShuffledHash(build) =>
      val (table, probe) = (in.sides(build), in.sides(JoinSide.of(build).other))
      JoinCost
        .hashTableBytes(table, probe, in.cluster.shufflePartitions, in.limits.advisoryBytes)
        .getOrElse(0.0)
    case _ => 0
  }

  /** Whether Spark makes no exchange between these rows and an operator that groups them. */
  private def staysInPlace(child: LogicalPlan, by: Seq[Expression], conf: SQLConf): Boolean =
    by.nonEmpty && PredictedPartitioning
      .of(child, conf)
      .exists(_.serves(by, conf.getConf(SQLConf.REQUIRE_ALL_CLUSTER_KEYS_FOR_DISTRIBUTION)))
}

package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.Sides
import org.apache.spark.sql.springbok.cost.{JoinInput, Strategy}
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

  private def joined(j: Join, d: JoinDecision, conf: SQLConf): Double = d.input.fold(0.0) { in =>
    JoinChooser.streamed(j, d.choice.chosen).map(of(_, conf)).getOrElse {
      val below = in.sides.zip(Sides(j.left, j.right)).toSeq.collect {
        case (side, p) if side.layout.partitioned => of(p, conf)
      }
      below.sum + own(in, d.choice.chosen)
    }
  }

  private def own(in: JoinInput, chosen: Strategy): Double = chosen match {
    case Strategy.ShuffledHash(build) => in.hashTable(build).getOrElse(0.0)
    case _ => 0
  }

  /** Whether Spark makes no exchange between these rows and an operator that groups them. */
  private def staysInPlace(child: LogicalPlan, by: Seq[Expression], conf: SQLConf): Boolean =
    by.nonEmpty && PredictedPartitioning
      .of(child, conf)
      .exists(_.serves(by, conf.getConf(SQLConf.REQUIRE_ALL_CLUSTER_KEYS_FOR_DISTRIBUTION)))
}

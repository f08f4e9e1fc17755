package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{LocalAggregate, Sides}
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
    case other => inPlace(other, conf).fold(0.0)(of(_, conf))
  }

  /** Compressed bytes by partition of the finished shuffles that the stage reads for such a plan, None if it reads anything else. */
  def shuffled(plan: LogicalPlan, conf: SQLConf): Option[Seq[Long]] = plan match {
    case FinishedShuffle(s) => s.mapStats.map(_.bytesByPartitionId.toSeq)
    case j: Join =>
      j.getTagValue(JoinState.decisionTag).flatMap { d =>
        JoinChooser.streamed(j, d.choice.chosen).map(shuffled(_, conf)).getOrElse {
          for {
            in <- d.input
            l <- in.left.layout.shuffled
            r <- in.right.layout.shuffled if l.size == r.size
          } yield l.zip(r).map { case (a, b) => a + b }
        }
      }
    case other => inPlace(other, conf).flatMap(shuffled(_, conf))
  }

  /** What an operator computes its rows of in the same stage. */
  private def inPlace(plan: LogicalPlan, conf: SQLConf): Option[LogicalPlan] = plan match {
    case a: Aggregate => Some(a.child).filter(staysInPlace(_, a.groupingExpressions, conf))
    case w: Window => Some(w.child).filter(staysInPlace(_, w.partitionSpec, conf))
    case LocalAggregate(_, a: Aggregate) => Some(a.child)
    case _: Project | _: Filter => plan.children.headOption
    case s: Sort if !s.global => Some(s.child)
    case _ => None
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

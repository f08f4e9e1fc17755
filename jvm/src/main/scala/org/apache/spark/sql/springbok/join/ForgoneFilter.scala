package org.apache.spark.sql.springbok.join

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.SpringbokConf
import org.apache.spark.sql.springbok.cost.{FilterCost, JoinOrderCost}
import org.apache.spark.sql.springbok.stats.{JoinEstimate, PlanStats}

/**
 * What is lost by reading a side first that the other one could have filtered. Of a table that is little, as its
 * rows are read once in any case; of groups it is all that they are made of, so a broadcast of them has it in its cost.
 */
private[join] object ForgoneFilter {

  /** Bytes of the left and of the right side that would not be made. */
  def of(
      j: Join,
      lk: Seq[Expression],
      rk: Seq[Expression],
      stats: PlanStats,
      conf: SQLConf
  ): (Double, Double) = {
    val (left, right) = j.joinType match {
      case _: InnerLike | LeftSemi => (true, true)
      case RightOuter => (true, false)
      case LeftOuter | LeftAnti => (false, true)
      case _ => (false, false)
    }
    val filters = conf.adaptiveExecutionEnabled && conf.getConf(SpringbokConf.FILTER_MODE) == "GLOBAL"
    def bytes(
        can: Boolean,
        p: LogicalPlan,
        keys: Seq[Expression],
        other: LogicalPlan,
        otherKeys: Seq[Expression]
    ) =
      if (can && filters) spared(p, keys, other, otherKeys, stats) else 0.0
    (bytes(left, j.left, lk, j.right, rk), bytes(right, j.right, rk, j.left, lk))
  }

  private def spared(
      p: LogicalPlan,
      keys: Seq[Expression],
      other: LogicalPlan,
      otherKeys: Seq[Expression],
      stats: PlanStats
  ): Double = {
    val (mine, theirs) = (stats(p), stats(other))
    val spared = for {
      (k, o) <- keys.zip(otherKeys)
      input <- input(p, k)
      grouped <- stats(input).rows
      groups <- mine.bytes
      rows <- theirs.rows
    } yield {
      val distinct = o.references.headOption.flatMap(theirs.columns.get).fold(rows.value)(_.distinct)
      val kept = math.min(distinct, rows.value) / JoinEstimate.keyDomain(Seq(k), Seq(o), mine, theirs)
      (groups + grouped.value * FilterCost.aggregate / JoinOrderCost.nsPerByte) * math.max(0, 1 - kept)
    }
    spared.maxOption.getOrElse(0.0)
  }

  /** What groups are made of, if the key is one that they are made by, so that a filter on it goes below the aggregate. */
  private def input(p: LogicalPlan, key: Expression): Option[LogicalPlan] = (p, key) match {
    case (a: Aggregate, k: Attribute) =>
      val by = a.aggregateExpressions.exists { e =>
        e.exprId == k.exprId && !e.exists(_.isInstanceOf[AggregateExpression])
      }
      Option.when(by)(a.child)
    case (Filter(_, child), k) => input(child, k)
    case (Project(_, child), k) =>
      Option.when(k.references.subsetOf(child.outputSet))(child).flatMap(input(_, k))
    case _ => None
  }
}

package org.apache.spark.sql.springbok.join

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.SpringbokConf
import org.apache.spark.sql.springbok.stats.{JoinEstimate, PlanStats}

/**
 * What is lost by reading a side first that the other, smaller one could have filtered. Of a table that is little, as its
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
    val grouped = keys.zip(otherKeys).filter { case (k, _) => groupKey(p, k) }
    val spared = for {
      (k, o) <- grouped
      (mine, theirs) = (stats(p), stats(other))
      (all, few, rows) <- mine.bytes.flatMap(a => theirs.bytes.flatMap(f => theirs.rows.map((a, f, _))))
      if few < all
    } yield all * (1 - math.min(1.0, rows.value / JoinEstimate.keyDomain(Seq(k), Seq(o), mine, theirs)))
    spared.maxOption.getOrElse(0.0)
  }

  /** Whether the key is one that groups are made by, so that a filter on it goes below the aggregate. */
  private def groupKey(p: LogicalPlan, key: Expression): Boolean = (p, key) match {
    case (a: Aggregate, k: Attribute) =>
      a.aggregateExpressions.exists(e =>
        e.exprId == k.exprId && !e.exists(_.isInstanceOf[AggregateExpression])
      )
    case (Filter(_, child), k) => groupKey(child, k)
    case (Project(_, child), k) => k.references.subsetOf(child.outputSet) && groupKey(child, k)
    case _ => false
  }
}

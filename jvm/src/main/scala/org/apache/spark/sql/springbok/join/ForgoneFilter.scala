package org.apache.spark.sql.springbok.join

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.SpringbokConf
import org.apache.spark.sql.springbok.cost.{FilterCost, JoinOrderCost}
import org.apache.spark.sql.springbok.filter.JoinEstimates
import org.apache.spark.sql.springbok.stats.{JoinEstimate, PlanStats}

/**
 * What is lost by reading a side first that the other one could have filtered: the rows without a match, and of groups all
 * that they are made of. A broadcast of such a side has it in its cost.
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
    val (left, right) = JoinEstimates.filterable(j.joinType)
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
      made <- making(p, k, stats)
      bytes <- mine.bytes
      rows <- theirs.rows
    } yield {
      val distinct = o.references.headOption.flatMap(theirs.columns.get).fold(rows.value)(_.distinct)
      val kept = math.min(distinct, rows.value) / JoinEstimate.keyDomain(Seq(k), Seq(o), mine, theirs)
      (bytes + made) * math.max(0, 1 - kept)
    }
    spared.maxOption.getOrElse(0.0)
  }

  /** What it takes to make the rows, as bytes that could be sent instead; None if a filter on the key reaches no table. */
  private def making(p: LogicalPlan, key: Expression, stats: PlanStats): Option[Double] = p match {
    case Filter(_, child) => making(child, key, stats)
    case Project(_, child) =>
      Option.when(key.references.subsetOf(child.outputSet))(child).flatMap(making(_, key, stats))
    case a: Aggregate =>
      val by = a.aggregateExpressions.exists { e =>
        key.references.contains(e.toAttribute) && !e.exists(_.isInstanceOf[AggregateExpression])
      }
      val rows = stats(a.child).rows.filter(_ => by)
      rows.map(_.value * FilterCost.aggregate / JoinOrderCost.nsPerByte)
    case _: LogicalRelation | _: DataSourceV2ScanRelation => Some(0.0)
    case _ => None
  }
}

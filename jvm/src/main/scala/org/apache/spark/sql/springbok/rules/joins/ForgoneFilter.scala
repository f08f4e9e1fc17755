package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.Sides
import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.apache.spark.sql.springbok.cost.{FilterCost, JoinCost, JoinOrderCost}
import org.apache.spark.sql.springbok.stats.estimate.KeyDomain
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/**
 * What a runtime filter from the other side leaves of a side that could have one: rows with a match, and of groups what
 * those are made of. A broadcast, which is read first, goes without; a side that is sent after the other one has it.
 */
private[springbok] object ForgoneFilter {

  /** The filter on the left and on the right side. */
  def of(
      j: Join,
      lk: Seq[Expression],
      rk: Seq[Expression],
      stats: PlanStats,
      conf: SQLConf,
      cores: Int
  ): (JoinCost.Filtered, JoinCost.Filtered) = {
    val filterable = Sides.dropUnmatched(j.joinType)
    val filters = conf.adaptiveExecutionEnabled && conf.getConf(SpringbokConf.FILTER_MODE) == "GLOBAL"
    def side(
        can: Boolean,
        p: LogicalPlan,
        keys: Seq[Expression],
        other: LogicalPlan,
        otherKeys: Seq[Expression]
    ) =
      Option
        .when(can && filters)(filtered(p, keys, other, otherKeys, stats))
        .flatten
        .filter(placed(p, _))
        .getOrElse(JoinCost.Filtered())
    // One that saves less is not made: nothing is lost without it.
    def placed(p: LogicalPlan, f: JoinCost.Filtered): Boolean = stats(p).rows.exists { rows =>
      val ns = (rows.value * FilterCost.shuffle + f.made * JoinOrderCost.nsPerByte) * (1 - f.kept)
      ns / 1e6 / cores >= conf.getConf(SpringbokConf.FILTER_MIN_BENEFIT_MS)
    }
    (side(filterable.left, j.left, lk, j.right, rk), side(filterable.right, j.right, rk, j.left, lk))
  }

  private def filtered(
      p: LogicalPlan,
      keys: Seq[Expression],
      other: LogicalPlan,
      otherKeys: Seq[Expression],
      stats: PlanStats
  ): Option[JoinCost.Filtered] = {
    val (mine, theirs) = (stats(p), stats(other))
    val filters = for {
      (k, o) <- keys.zip(otherKeys)
      made <- making(p, k, stats)
      rows <- theirs.rows
    } yield {
      val distinct = o.references.headOption.flatMap(theirs.columns.get).fold(rows.value)(_.remaining)
      val kept = math.min(distinct, rows.value) / KeyDomain.of(Seq(k), Seq(o), mine, theirs)
      JoinCost.Filtered(math.min(1, kept), made)
    }
    filters.minByOption(_.kept)
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

package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.springbok.catalyst.{LocalAggregate, Sides}
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.cost.{CostConstants, Filtered}
import org.apache.spark.sql.springbok.stats.estimate.KeyDomain
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/**
 * The effect that a runtime filter from the other side has on each side of a join. The filter retains rows with a match,
 * and spares computing the groups that have none. A side that is broadcast is read first and goes without the filter; a
 * side that is sent after the other one has it.
 */
private[joins] object ForgoneFilter {

  /** The effect of the filter on either side. */
  def of(j: Join, keys: Sides[Seq[Expression]], planning: JoinPlanning): Sides[Filtered] = {
    val plans = Sides(j.left, j.right)
    val filterable = Sides.dropUnmatched(j.joinType)
    Sides.each { s =>
      val other = s.other
      Option
        .when(filterable(s) && planning.filtersScans)(
          filtered(plans(s), keys(s), plans(other), keys(other), planning.stats)
        )
        .flatten
        .filter(pays(plans(s), _, planning))
        .getOrElse(Filtered())
    }
  }

  /**
   * Whether a filter saves enough to be made.
   *
   * @param rowNs
   *   what a row saves, in ns of one core
   */
  def pays(
      p: LogicalPlan,
      f: Filtered,
      planning: JoinPlanning,
      rowNs: Double = CostConstants.shuffleNs
  ): Boolean =
    planning.stats(p).rows.exists { rows =>
      val ns = (rows.value * rowNs + f.made * CostConstants.nsPerByte) * (1 - f.retained)
      ns / 1e6 / planning.cluster.cores >= planning.conf.getConf(FilterConf.MIN_BENEFIT_MS)
    }

  private def filtered(
      p: LogicalPlan,
      keys: Seq[Expression],
      other: LogicalPlan,
      otherKeys: Seq[Expression],
      stats: PlanStats
  ): Option[Filtered] = {
    val filters = for {
      (k, o) <- keys.zip(otherKeys)
      made <- making(p, k, stats)
      retained <- KeyDomain.retained(k, o, stats(p), stats(other))
    } yield Filtered(retained, made)
    filters.minByOption(_.retained)
  }

  /** What it takes to compute the rows, as bytes that could be sent instead; None if a filter on the key reaches no table. */
  def making(p: LogicalPlan, key: Expression, stats: PlanStats): Option[Double] = p match {
    case Filter(condition, child) if condition.deterministic => making(child, key, stats)
    case Project(list, child) if list.forall(_.deterministic) =>
      Option.when(key.references.subsetOf(child.outputSet))(child).flatMap(making(_, key, stats))
    case LocalAggregate(_, child) => making(child, key, stats)
    case a: Aggregate =>
      val by = a.aggregateExpressions.exists { e =>
        key.references.contains(e.toAttribute) && !e.exists(_.isInstanceOf[AggregateExpression])
      }
      val rows = stats(a.child).rows.filter(_ => by)
      rows.map(_.value * CostConstants.aggregateNs / CostConstants.nsPerByte)
    case _: LogicalRelation | _: DataSourceV2ScanRelation => Some(0.0)
    case _ => None
  }
}

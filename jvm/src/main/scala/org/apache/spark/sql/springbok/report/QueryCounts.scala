package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.springbok.cost.Strategy
import org.apache.spark.sql.springbok.record.{FilterState, JoinState, PlanningState}

/**
 * A finished query in a few numbers, which are counted without making its report.
 *
 * @param planned
 *   joins that Springbok decided and that the plan has
 * @param changed
 *   those of them that Spark alone would plan in another way
 * @param filters
 *   filters that were placed
 * @param rowsRemoved
 *   rows that filters removed one by one, after the scan
 */
final private[springbok] case class QueryCounts(
    joins: Int,
    planned: Int,
    changed: Int,
    filters: Int,
    filtersUsed: Int,
    rowsRemoved: Long
)

private[springbok] object QueryCounts {
  def of(state: PlanningState, plan: SparkPlan): QueryCounts = {
    val (log, graph) = (state.log, new PlanGraph(plan))
    val ours = graph.nodes.map(_.plan).collect { case j: BaseJoinExec if decided(j) => j }
    QueryCounts(
      joins = log.joins.size,
      planned = ours.size,
      changed = ours.count(j => JoinState.of(j).flatMap(_.logged.sparkStrategy).exists(_ != Strategy.of(j))),
      filters = log.filters.count(_.number.isDefined),
      filtersUsed = log.filters.count(_.state.isInstanceOf[FilterState.Used]),
      rowsRemoved = FilterReport.rowsRemoved(graph)
    )
  }

  private def decided(j: BaseJoinExec): Boolean =
    JoinState.decision(j).exists(_.choice.chosen != Strategy.Spark)
}

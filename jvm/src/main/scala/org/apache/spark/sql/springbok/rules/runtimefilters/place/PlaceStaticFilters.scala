package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}

/**
 * Places runtime filters without adaptive execution. Then no stage has finished before another one is planned, but broadcasts
 * are made before the scans of their joins begin. The range of a broadcast's keys becomes a pair of scalar subqueries that
 * read the join's own relation. Spark gives the scan their values when it starts.
 *
 * {{{
 *   BroadcastHashJoin ss_sold_date_sk = d_date_sk     BroadcastHashJoin ss_sold_date_sk = d_date_sk
 *   :- Scan store_sales                               :- RuntimeFilter RF000[minmax] -> ss_sold_date_sk
 *   +- BroadcastExchange                         =>   :  +- Scan store_sales, ss_sold_date_sk >= Subquery SmallestKey, <= LargestKey
 *      +- Scan date_dim                               +- BroadcastExchange     (what the subqueries read, too)
 *                                                        +- Scan date_dim
 * }}}
 *
 * '''When''': as [[PlaceRuntimeFilters]] says, from broadcast joins to scans in their own stages (such a scan cannot be part of
 * an exchange that another part of the query reads as well), and to columns whose type is stored as an integral number. Not to
 * partition columns, which Spark prunes by itself. Not on Spark 3.5, whose scans do not hand such a value to the reader of their
 * files: the filter would test rows that are read already, right before the join that tests them anyway.
 *
 * '''Why the answer cannot change''': as for [[PlaceRuntimeFilters]]; the scan may skip rows whose key is null or outside of
 * the range of all keys. The relation is complete when it is read. If the column's type cannot hold the bounds, they are
 * rounded outwards.
 *
 * '''Settings''': `spark.springbok.runtimeFilter.*`.
 */
object PlaceStaticFilters extends Rule[SparkPlan] {
  def apply(plan: SparkPlan): SparkPlan =
    if (conf.adaptiveExecutionEnabled) plan else PlaceRuntimeFilters.placed(plan, adaptive = false)

  /** One of the session's columnar rules, which run on a whole plan before exchanges are reused. */
  object Hook extends ColumnarRule {
    override def preColumnarTransitions: Rule[SparkPlan] = PlaceStaticFilters
  }
}

package org.apache.spark.sql.springbok.catalyst

import scala.util.Try

import org.apache.spark.sql.catalyst.QueryPlanningTracker
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.QueryExecution

/** The optimized plan of a query that has been optimized. */
private[springbok] object OptimizedPlan {

  /** None if the query failed or was cancelled before: asking it would optimize it again, in this thread. */
  def of(qe: QueryExecution): Option[LogicalPlan] =
    if (qe.tracker.phases.contains(QueryPlanningTracker.OPTIMIZATION)) Try(qe.optimizedPlan).toOption
    else None
}

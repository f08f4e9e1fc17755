package org.apache.spark.sql.springbok.stats.operator

import org.apache.spark.sql.catalyst.expressions.PredicateHelper
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.springbok.stats.estimate.{Estimate, Rows, Selectivity, Source}

/** A filter leaves the part of the rows that its conjuncts select. */
private[operator] object FilterStats extends PredicateHelper {
  def apply(f: Filter, child: Estimate): Estimate = {
    val part = Selectivity.of(splitConjunctivePredicates(f.condition), child.columns)
    def remaining(r: Rows) = {
      val most = if (isTable(f.child)) r.most * part.most else r.most
      Rows(
        r.value * part.expected,
        r.bound * part.bound,
        Source.Estimated,
        math.max(r.bound * part.bound, most)
      )
    }
    child.withRows(child.rows.map(remaining))
  }

  /** Whether the rows are a table's, each of them once: row groups bound only those. */
  private def isTable(p: LogicalPlan): Boolean = p match {
    case Project(_, child) => isTable(child)
    case _ => p.isInstanceOf[LogicalRelation]
  }
}

package org.apache.spark.sql.springbok.stats.operator

import org.apache.spark.sql.catalyst.expressions.{Attribute, EqualTo, In, InSet, PredicateHelper}
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
    listed(f).foldLeft(child.withRows(child.rows.map(remaining))) { case (e, (a, n)) => e.withValues(a, n) }
  }

  /** Columns that must have one of some values, and the number of those. */
  private def listed(f: Filter): Seq[(Attribute, Int)] = splitConjunctivePredicates(f.condition).collect {
    case EqualTo(a: Attribute, v) if v.references.isEmpty => a -> 1
    case EqualTo(v, a: Attribute) if v.references.isEmpty => a -> 1
    case In(a: Attribute, list) if list.forall(_.references.isEmpty) => a -> list.size
    case InSet(a: Attribute, set) => a -> set.size
  }

  /** Whether the rows are a table's, each of them once: row groups bound only those. */
  private def isTable(p: LogicalPlan): Boolean = p match {
    case Project(_, child) => isTable(child)
    case _ => p.isInstanceOf[LogicalRelation]
  }
}

package org.apache.spark.sql.springbok.stats.operator

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.springbok.catalyst.{PruningSubqueries, SparkPlanning}
import org.apache.spark.sql.springbok.stats.estimate.{Estimate, KeyDomain, Rows, Selectivity, Source}

/** A filter leaves the part of the rows that its conjuncts select. */
private[operator] object FilterStats extends PredicateHelper {

  def apply(f: Filter, estimate: LogicalPlan => Estimate): Estimate = {
    val conjuncts = splitConjunctivePredicates(f.condition)
    val pruning = conjuncts.collect { case d: DynamicPruningSubquery => d }
    val own = conjuncts.filterNot(_.isInstanceOf[DynamicPruningSubquery])
    pruning.foldLeft(selected(f.child, own, estimate(f.child))) { (e, d) =>
      // Their bound stays: Spark may give up a pruning.
      val retained = prunings(d, estimate).map(_.retained(e)).product
      e.withRows(e.rows.map(r => r.copy(value = r.value * retained, source = Source.Estimated)))
    }
  }

  /**
   * The fraction of a side's rows that Spark's dynamic pruning by a join's keys has left. That join finds a match for each of
   * them, so it must not drop the same rows once more. The build side of the join may be known better by now.
   *
   * @param keys
   *   of the side, and of the other one
   */
  def pruned(
      side: LogicalPlan,
      keys: Seq[(Expression, Expression)],
      e: Estimate,
      estimate: LogicalPlan => Estimate
  ): Double = {
    val all = PruningSubqueries.withStages(side).flatMap(prunings(_, estimate))
    val own =
      all.filter(p => keys.exists { case (k, f) => k.semanticEquals(p.key) && f.semanticEquals(p.from) })
    own.map(_.retained(e)).product
  }

  private case class Pruning(key: Expression, from: Expression, build: Estimate) {
    def retained(e: Estimate): Double = KeyDomain.retained(key, from, e, build).getOrElse(1.0)
  }

  private def prunings(d: DynamicPruningSubquery, estimate: LogicalPlan => Estimate): Seq[Pruning] =
    SparkPlanning.pruningKeys(d).map(Pruning(d.pruningKey, _, estimate(d.buildQuery)))

  private def selected(from: LogicalPlan, conjuncts: Seq[Expression], child: Estimate): Estimate = {
    val part = Selectivity.of(conjuncts, child.columns)
    def remaining(r: Rows) = {
      val most = if (isTable(from)) r.most * part.most else r.most
      Rows(
        r.value * part.expected,
        r.bound * part.bound,
        Source.Estimated,
        math.max(r.bound * part.bound, most)
      )
    }
    listed(conjuncts).foldLeft(child.withRows(child.rows.map(remaining))) { case (e, (a, n)) =>
      e.withValues(a, n)
    }
  }

  /** Columns that must have one of some values, and the number of those. */
  private def listed(conjuncts: Seq[Expression]): Seq[(Attribute, Int)] = conjuncts.collect {
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

package org.apache.spark.sql.springbok.rules.reorder

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LeafNode, LogicalPlan, Project}
import org.apache.spark.sql.springbok.cost.{JoinGraph, JoinKeys, Relation, Scenario}
import org.apache.spark.sql.springbok.stats.estimate.{Estimate, KeyDomain}
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/** What the search for an order knows of a block. */
private[reorder] object BlockGraph {

  /**
   * @param filters
   *   whether runtime filters of one stage reach others
   */
  def apply(b: JoinBlock, stats: PlanStats, filters: Boolean): JoinGraph = {
    val estimates = b.items.map(stats(_))
    val relations = b.items.zip(estimates).map { case (item, e) =>
      relation(item, e, stats).copy(filterable = filters && ScannedTables(item).nonEmpty)
    }
    val sets = b.keys.map(_.keys.foldLeft(0L)((s, i) => s | 1L << i))
    def repeats(i: Int, key: Expression) =
      !KeyDomain.uniqueness(Seq(key), estimates(i)).believed && !KeyDomain.isFixed(key, estimates(i))
    val repeated = b.keys.map(_.foldLeft(0L) { case (s, (i, key)) =>
      if (repeats(i, key)) s | 1L << i else s
    })
    val keys = new JoinKeys(
      sets,
      (i, j, cs) => KeyDomain.of(cs.map(b.keys(_)(i)), cs.map(b.keys(_)(j)), estimates(i), estimates(j)),
      repeated
    )
    new JoinGraph(relations, keys)
  }

  private def relation(item: LogicalPlan, e: Estimate, stats: PlanStats): Relation = {
    val rows = e.rows.get
    val removed = unfiltered(item, stats).map(_ / math.max(1.0, rows.value))
    val (more, less) =
      if (removed.exists(_ < filtered)) (1.0, 1.0)
      else (math.min(Scenario.off, removed.getOrElse(Scenario.off)), Scenario.off)
    Relation(rows.value, rows.bound, e.rowBytes, filterable = false, more, less)
  }

  /** The rows of the only table of an item without its filters, None if the item is more than that. */
  private def unfiltered(item: LogicalPlan, stats: PlanStats): Option[Double] = item match {
    case Filter(_, child) => unfiltered(child, stats)
    case Project(_, child) => unfiltered(child, stats)
    case leaf: LeafNode => stats(leaf).rows.map(_.value)
    case _ => None
  }

  /** A filter that removes less than a tenth of the rows, such as the nulls, makes no estimate uncertain. */
  private val filtered = 1.1
}

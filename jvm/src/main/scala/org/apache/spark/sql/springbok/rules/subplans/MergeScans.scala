package org.apache.spark.sql.springbok.rules.subplans

import org.apache.spark.sql.catalyst.expressions.AttributeSet
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.CTE
import org.apache.spark.sql.springbok.catalyst.{CannotRaise, EqualPlans, RuleGuard, SparkSubplans}
import org.apache.spark.sql.springbok.conf.SubplanConf
import org.apache.spark.sql.springbok.cost.PlanningBudget
import org.apache.spark.sql.springbok.record.PlanningState
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/**
 * Computes aggregates without groups over the same tables in one pass where they differ in their filters alone.
 *
 * {{{
 *   SELECT (SELECT count(*) FROM sales WHERE q < 20),        SELECT count(*) FILTER (WHERE q < 20),
 *          (SELECT avg(price) FROM sales WHERE q > 80)   =>         avg(price) FILTER (WHERE q > 80)
 *                                                            FROM sales WHERE q < 20 OR q > 80
 * }}}
 *
 * '''When''': the scan that serves all of them reads about as many values as theirs together. Rows that one aggregate needs are
 * read with the columns that all need, so an aggregate of many columns over few rows is not merged with one of few columns
 * over many rows. Spark 4.2 or later, whose own rule does it; its settings are off by default, because costs do not decide there.
 *
 * '''Why the answer cannot change''': Spark's `MergeSubplans` makes the plan. Each aggregate gets the same rows, by its FILTER.
 * Projections and conditions see rows of the other aggregates, so all expressions must be deterministic and unable to raise
 * an error.
 *
 * '''What it gives''': TPC-DS q9, q28 and q88 read `store_sales` once instead of 5, 6 and 8 times: 2.3, 2.1 and 5.1 times as fast at
 * scale 3 (medians of three runs by turns).
 *
 * '''Setting''': `spark.springbok.subplan.merge`.
 */
object MergeScans extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    // Spark merges the subplans of whole queries, and of none that has a CTE.
    case _ if plan.isInstanceOf[Subquery] || plan.containsPattern(CTE) => plan
    case _
        if PlanningState
          .leavesAlone(plan, conf) || !conf.getConf(SubplanConf.MERGE) || !SparkSubplans.exist =>
      plan
    case _ =>
      val all = aggregates(plan)
      if (all.size < 2) plan
      else RuleGuard("MergeScans", plan, None)(if (pays(plan, all)) merged(plan) else plan)
  }

  private def merged(plan: LogicalPlan): LogicalPlan =
    SparkSubplans.merged(plan, conf).getOrElse(plan)

  private def aggregates(plan: LogicalPlan): Seq[Aggregate] = plan.collectWithSubqueries {
    case a: Aggregate if a.groupingExpressions.isEmpty && (a ne plan) => a
  }

  /** Spark merges wherever it can, so each group of aggregates that it may merge has to pay. */
  private def pays(plan: LogicalPlan, all: Seq[Aggregate]): Boolean = {
    val stats = new PlanStats
    val equal = new EqualPlans(all)
    val groups = all.groupBy(equal.alike).values.filter(_.size > 1).toSeq
    groups.exists(_.map(_.child.canonicalized).distinct.size > 1) &&
    groups.flatten.forall(isHarmless) && !PlanningBudget.forbidsStatistics(plan, conf) &&
    groups.forall(g => MergedReads(g.map(a => inputs(a.child).map(Read.of(_, stats)))))
  }

  private def isHarmless(a: Aggregate): Boolean = {
    val computed = a.child.flatMap(_.expressions) ++ a.aggregateExpressions.flatMap(_.collect {
      case e: AggregateExpression => e.aggregateFunction.children ++ e.filter
    }.flatten)
    a.deterministic && computed.forall(e => e.deterministic && CannotRaise(e))
  }

  /** The scans of a plan with the filters and projections on them. */
  private def inputs(p: LogicalPlan): Seq[LogicalPlan] =
    if (isInput(p)) Seq(p) else p.children.flatMap(inputs)

  private def isInput(p: LogicalPlan): Boolean = p match {
    case _: LeafNode => true
    case Filter(_, child) => isInput(child)
    case Project(_, child) => isInput(child)
    case _ => false
  }
}

/**
 * What an aggregate reads of a table.
 *
 * @param passing
 *   rows that are expected to pass its filters, None if unknown
 * @param read
 *   rows of the row groups that may have such rows
 * @param table
 *   rows of the table
 */
final private case class Read(passing: Option[Double], read: Double, table: Double, columns: Set[String])

private object Read {
  def of(input: LogicalPlan, stats: PlanStats): Read = {
    val leaf = input.collectLeaves().head
    val used = AttributeSet(input.flatMap(_.references)) ++ input.outputSet
    val (all, rows) = (stats(leaf).rows.fold(Double.MaxValue)(_.value), stats(input).rows)
    val columns = leaf.output.filter(used.contains).map(_.name).toSet
    Read(rows.map(_.value), rows.fold(all)(r => math.min(all, r.most)), all, columns)
  }
}

/** Whether one scan of each table that serves all aggregates reads at most about the values that theirs read. */
private object MergedReads {

  /**
   * How many times as many values may be read: by the ranges of row groups, and if each aggregate reads no more than its own
   * rows, as in a table that is sorted by the columns of its filters and of which not all footers were read.
   */
  private val (tolerance, sorted) = (1.25, 1.5)

  /** @param aggregates what each of them reads of each table, in the same order */
  def apply(aggregates: Seq[Seq[Read]]): Boolean = {
    val tables = aggregates.transpose
    def within(most: Double)(rows: Read => Double) =
      tables.map(together(_, rows)).sum <= tables.flatten.map(r => rows(r) * r.columns.size).sum * most
    tables.forall(_.forall(_.passing.isDefined)) && within(tolerance)(_.read) &&
    within(sorted)(_.passing.getOrElse(0.0))
  }

  private def together(reads: Seq[Read], rows: Read => Double): Double =
    math.min(reads.head.table, reads.map(rows).sum) * reads.flatMap(_.columns).distinct.size
}

package org.apache.spark.sql.springbok.rules.conjuncts

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.springbok.catalyst.{CannotRaise, ExpressionLabel, RuleGuard}
import org.apache.spark.sql.springbok.conf.{ConjunctConf, SpringbokConf}
import org.apache.spark.sql.springbok.cost.{ConjunctCost, ExpressionCost, PlanningBudget}
import org.apache.spark.sql.springbok.record.{LoggedConjunct, LoggedConjuncts, PlanningState}
import org.apache.spark.sql.springbok.stats.estimate.{ColumnStats, Selectivity}
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/**
 * Puts the conjuncts of filters and join conditions into the order in which they cost least, by Impala's greedy order.
 *
 * {{{
 *   Filter p_comment LIKE '%a%b%' AND p_size = 15    =>    Filter p_size = 15 AND p_comment LIKE '%a%b%'
 * }}}
 *
 * Runs after all of Spark's rules, so what is pushed into scans has been decided on; a scan takes the same conjuncts in
 * any order. Functions in Python are not seen here: Spark has made operators of them, below which it has pushed the rest.
 *
 * '''When''': the query is not left to Spark, one of at least two conjuncts is dearer than comparing numbers, and the new order is expected to cost less by
 * a margin. `a IS NOT NULL` of a column stays where it is, Spark checks it just before the column's first use; so do
 * equalities that are a join's keys.
 *
 * '''Why the answer cannot change''': AND is commutative, also with nulls. What is not deterministic stays at its place and
 * nothing passes it, so that it is evaluated for the same rows. What is not known to be harmless ([[CannotRaise]]) stays
 * behind everything that it stood behind, so a guard like `b <> 0` before `a / b > 1` goes on guarding; others may only
 * come before it, which spares it rows. Canonical forms do not know the order of conjuncts, so exchanges and caches are
 * reused as before.
 *
 * '''Settings''': `spark.springbok.conjunct.enabled`.
 */
object OrderConjuncts extends Rule[LogicalPlan] with PredicateHelper {
  def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case _ if !conf.getConf(SpringbokConf.ENABLED) || !conf.getConf(ConjunctConf.ENABLED) => plan
    case _ if plan.isStreaming => plan
    // A correlated subquery is planned again as part of its outer query.
    case s: Subquery if s.correlated => plan
    case _ if PlanningState.isLeft(plan) => plan
    case _ =>
      lazy val record = PlanningState.ofQuery(plan)
      RuleGuard("OrderConjuncts", failed(plan, record), Some(record)) {
        val stats = new PlanStats
        // The tables of joins are looked at anyway.
        lazy val isLittle = !plan.exists(_.isInstanceOf[Join]) && PlanningBudget.forbidsStatistics(plan, conf)
        def columns(p: LogicalPlan): AttributeMap[ColumnStats] =
          if (isLittle) AttributeMap.empty else AttributeMap(p.children.flatMap(stats(_).columns.toSeq))
        plan.transformUp {
          case f: Filter if open(f) =>
            val condition = ordered("filter", f, f.condition, _ => false, columns(f), record)
            condition.fold(f)(c => f.copy(condition = c))
          case j: Join if open(j) && j.condition.isDefined =>
            val condition = ordered("join", j, j.condition.get, isKey(j, _), columns(j), record)
            condition.fold(j)(c => j.copy(condition = Some(c)))
        }
      }
  }

  private[springbok] def conjuncts(condition: Expression): Seq[Expression] = splitConjunctivePredicates(
    condition
  )

  private def failed(plan: LogicalPlan, record: PlanningState): LogicalPlan = {
    plan.setTagValue(PlanningState.tag, record)
    plan
  }

  /** On a node whose conjuncts have been looked at: the batch runs until nothing changes. */
  private val done = TreeNodeTag[Unit]("springbok.conjuncts")

  private def open(p: LogicalPlan): Boolean = p.getTagValue(done).isEmpty

  private def isKey(j: Join, c: Expression): Boolean = c match {
    case Equality(l, r) =>
      canEvaluate(l, j.left) && canEvaluate(r, j.right) || canEvaluate(l, j.right) && canEvaluate(r, j.left)
    case _ => false
  }

  /** The condition in a better order, None where there is none. */
  private def ordered(
      kind: String,
      plan: LogicalPlan,
      condition: Expression,
      fixed: Expression => Boolean,
      columns: => AttributeMap[ColumnStats],
      query: => PlanningState
  ): Option[Expression] = {
    val all = conjuncts(condition).toIndexedSeq
    val free = all.indices.filter(i => movable(all(i)) && !fixed(all(i)))
    Option
      .when(free.size > 1 && free.exists(i => ExpressionCost(all(i)) >= ExpressionCost.textComparison)) {
        val known = columns
        // Nothing passes what is not deterministic.
        val parts = free.groupBy(i => all.take(i).count(!_.deterministic)).toSeq.sortBy(_._1).map(_._2)
        val orders = parts.map(part => new Part(part.map(i => assess(all(i), known))))
        val entries = parts.zip(orders).flatMap { case (part, o) => o.entries(part.map(all)) }
        val record =
          LoggedConjuncts(
            kind,
            orders.exists(_.changed),
            orders.map(_.before).sum,
            orders.map(_.after).sum,
            entries
          )
        query.log.addConjuncts(record)
        plan.setTagValue(PlanningState.tag, query)
        plan.setTagValue(done, ())
        val places = parts.flatten
        val filled = parts.zip(orders).flatMap { case (part, o) => o.order.map(part) }
        val moved = places.zip(filled).toMap
        Option.when(record.changed)(all.indices.map(i => all(moved.getOrElse(i, i))).reduce(And))
      }
      .flatten
  }

  private def movable(c: Expression): Boolean = c match {
    case IsNotNull(_: Attribute) | _: DynamicPruning => false
    case _ => c.deterministic
  }

  private def assess(c: Expression, columns: AttributeMap[ColumnStats]): ConjunctCost.Conjunct =
    ConjunctCost.Conjunct(ExpressionCost(c), Selectivity.known(c, columns), !CannotRaise(c))

  /** Conjuncts that may change places with one another. */
  final private class Part(conjuncts: IndexedSeq[ConjunctCost.Conjunct]) {
    private val best = ConjunctCost.order(conjuncts)
    val before: Double = ConjunctCost.total(conjuncts, conjuncts.indices)
    val changed: Boolean = ConjunctCost.total(conjuncts, best) <= before * ConjunctCost.margin
    val order: Seq[Int] = if (changed) best else conjuncts.indices
    val after: Double = ConjunctCost.total(conjuncts, order)

    def entries(conditions: Seq[Expression]): Seq[LoggedConjunct] = order.map { i =>
      val c = conjuncts(i)
      LoggedConjunct(ExpressionLabel(conditions(i)), c.cost, c.selectivity, c.mayRaise)
    }
  }
}

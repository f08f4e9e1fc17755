package org.apache.spark.sql.springbok.rules.conjuncts

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.catalyst.trees.TreePattern.{FILTER, JOIN}
import org.apache.spark.sql.springbok.catalyst.{CannotRaise, ExpressionLabel, RuleGuard}
import org.apache.spark.sql.springbok.conf.ConjunctConf
import org.apache.spark.sql.springbok.cost.{ConjunctCost, ExpressionCost, PlanningBudget}
import org.apache.spark.sql.springbok.record.{DecidedConjunct, DecidedConjuncts, PlanningState}
import org.apache.spark.sql.springbok.stats.estimate.{ColumnStats, Selectivity}
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/**
 * Puts the conjuncts of filters and join conditions into the order in which they cost least, by Impala's greedy order.
 *
 * {{{
 *   Filter p_comment LIKE '%a%b%' AND p_size = 15    =>    Filter p_size = 15 AND p_comment LIKE '%a%b%'
 * }}}
 *
 * Runs after all of Spark's rules, so the conjuncts of scans have been pushed down; a scan takes them in any order.
 * Functions in Python are not seen here: Spark has made operators of them and pushed the other conjuncts below.
 *
 * '''When''': the query is not left to Spark, at least two conjuncts can move, one of them costs at least as much as a
 * comparison of strings ([[ExpressionCost.textComparison]]), and the new order is expected to cost less by a margin. `a IS
 * NOT NULL` of a column stays where it is, because Spark checks it just before the column's first use. Equalities that are a
 * join's keys stay as well.
 *
 * '''Why the answer cannot change''': AND is commutative, also with nulls. A non-deterministic conjunct keeps its place, and
 * no conjunct moves past it, so it sees the same rows. A conjunct that may raise an error ([[CannotRaise]]) stays behind
 * every conjunct that stood before it, so the guard `b <> 0` still protects `a / b > 1`. Canonical forms ignore the order of
 * conjuncts, so exchanges and caches are reused as before.
 *
 * '''Settings''': `spark.springbok.conjunct.enabled`.
 */
object OrderConjuncts extends Rule[LogicalPlan] with PredicateHelper {
  def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case _ if !plan.containsAnyPattern(FILTER, JOIN) || !conf.getConf(ConjunctConf.ENABLED) => plan
    case _ if PlanningState.leavesAlone(plan, conf) => plan
    case _ =>
      lazy val query = PlanningState.adoptQuery(plan)
      RuleGuard("OrderConjuncts", PlanningState.tagged(plan, query), Some(query)) {
        val stats = new PlanStats
        // The tables of joins are looked at anyway.
        lazy val isLittle = !plan.exists(_.isInstanceOf[Join]) && PlanningBudget.forbidsStatistics(plan, conf)
        def columns(p: LogicalPlan): AttributeMap[ColumnStats] =
          if (isLittle) AttributeMap.empty else AttributeMap(p.children.flatMap(stats(_).columns.toSeq))
        plan.transformUp {
          case f: Filter if open(f) =>
            val condition = ordered("filter", f, f.condition, _ => false, columns(f), query)
            condition.fold(f)(c => f.copy(condition = c))
          case j: Join if open(j) && j.condition.isDefined =>
            val condition = ordered("join", j, j.condition.get, isKey(j, _), columns(j), query)
            condition.fold(j)(c => j.copy(condition = Some(c)))
        }
      }
  }

  private[springbok] def conjuncts(condition: Expression): Seq[Expression] = splitConjunctivePredicates(
    condition
  )

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
        val decided =
          DecidedConjuncts(
            kind,
            orders.exists(_.changed),
            orders.map(_.before).sum,
            orders.map(_.after).sum,
            entries
          )
        query.decisions.add(decided)
        plan.setTagValue(PlanningState.tag, query)
        plan.setTagValue(done, ())
        val places = parts.flatten
        val filled = parts.zip(orders).flatMap { case (part, o) => o.order.map(part) }
        val moved = places.zip(filled).toMap
        Option.when(decided.changed)(all.indices.map(i => all(moved.getOrElse(i, i))).reduce(And))
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

    def entries(conditions: Seq[Expression]): Seq[DecidedConjunct] = order.map { i =>
      val c = conjuncts(i)
      new DecidedConjunct(ExpressionLabel(conditions(i)), c.cost, c.selectivity, c.mayRaise)
    }
  }
}

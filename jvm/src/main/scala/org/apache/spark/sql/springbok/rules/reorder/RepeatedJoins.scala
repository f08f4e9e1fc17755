package org.apache.spark.sql.springbok.rules.reorder

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.springbok.catalyst.LeafNames
import org.apache.spark.sql.springbok.record.JoinState

/**
 * Joins that a query has several times, such as those of a CTE that it uses twice. Spark runs equal exchanges once, and so
 * equal joins below them. A block that takes one of them apart and not the others would make Spark run both.
 *
 * {{{
 *   Join                         The second ws1 ⋈ ws2 is a relation of its own.
 *   :- LeftSemi
 *   :  :- web_sales
 *   :  +- ws1 ⋈ ws2
 *   +- Join
 *      :- web_returns
 *      +- ws1 ⋈ ws2
 * }}}
 *
 * Equal blocks have equal statistics, so they are put into the same order. Subqueries are planned before their query: their
 * joins stay as they are, and so do equal joins of the query.
 */
final private[reorder] class RepeatedJoins(plan: LogicalPlan) {
  private lazy val copies: IdentityHashMap[LogicalPlan, Seq[Join]] = {
    val found = new IdentityHashMap[LogicalPlan, Seq[Join]]()
    val joins = plan.collectWithSubqueries { case j: Join => j }
    // Canonical forms are expensive: only joins of equal leaves are compared.
    for (
      alike <- joins.groupBy(LeafNames.of).values if alike.size > 1;
      same <- alike.groupBy(_.canonicalized).values
    )
      same.foreach(found.put(_, same): Unit)
    found
  }

  /** Whether a subquery that is planned already has the same join. */
  def isPlanned(join: LogicalPlan): Boolean =
    copies.getOrDefault(join, Nil).size > 1 && copies.get(join).exists(JoinState.of(_).isDefined)

  /** Whether the query has a join more often than the joins above that it belongs to. */
  def moreOftenThan(top: LogicalPlan, join: Join): Boolean = of(join) > of(top)

  private def of(join: LogicalPlan): Int = math.max(1, copies.getOrDefault(join, Nil).size)
}

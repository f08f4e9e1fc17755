package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Command, LogicalPlan}

/**
 * A MERGE as Delta plans it: source and target, the condition that they meet by, and clauses that set columns of the target.
 *
 * The jar does not depend on Delta, so the command is recognized by its parts: two plans, a condition, and clauses which are
 * expressions. A clause's children are its own condition and its assignments, and an assignment has the name of its column.
 */
private[springbok] object DeltaMerge {

  /**
   * @param table
   *   the target in the catalog, if it is there
   * @param assigned
   *   columns of the target, each with a value that a clause gives it
   */
  final case class Parts(
      source: LogicalPlan,
      target: LogicalPlan,
      table: Option[CatalogTable],
      conditions: Seq[Expression],
      assigned: Seq[(String, Expression)]
  )

  def unapply(p: LogicalPlan): Option[Parts] = p match {
    case c: Command =>
      val parts = c.productIterator.toSeq
      val plans = parts.collect { case l: LogicalPlan => l }
      val condition = parts.collect { case e: Expression => e }
      val inClauses =
        parts.collect { case s: Seq[?] => s.collect { case e: Expression => e } }.flatten.flatMap(_.children)
      val assigned = inClauses.collect { case Assignment(column, value) => column -> value }
      Option.when(plans.size == 2 && condition.size == 1 && assigned.nonEmpty) {
        val table = parts.collectFirst { case Some(t: CatalogTable) => t }
        val conditions = condition ++ inClauses.filter(Assignment.unapply(_).isEmpty)
        Parts(plans.head, plans(1), table, conditions, assigned)
      }
    case _ => None
  }

  private object Assignment {
    def unapply(e: Expression): Option[(String, Expression)] = e match {
      case u: UnaryExpression =>
        u.productIterator.collectFirst { case Seq(column: String, _*) => column -> u.child }
      case _ => None
    }
  }
}

package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{Command, LogicalPlan}

/**
 * An UPDATE or a DELETE as Delta plans it: the target, the condition, and for an UPDATE the new value of each column of the
 * target. Both have the parts of many other commands, so they are recognized by the names of their classes as well.
 */
private[springbok] object DeltaChange {

  /**
   * @param mode
   *   update or delete
   * @param table
   *   the target in the catalog, if it is there
   * @param values
   *   in the order of the target's columns; none for a DELETE
   */
  final case class Parts(
      mode: String,
      target: LogicalPlan,
      table: Option[CatalogTable],
      condition: Option[Expression],
      values: Seq[Expression]
  )

  private val modes = Map("UpdateCommand" -> "update", "DeleteCommand" -> "delete").map { case (name, mode) =>
    s"org.apache.spark.sql.delta.commands.$name" -> mode
  }

  def unapply(p: LogicalPlan): Option[Parts] = p match {
    case c: Command =>
      val parts = c.productIterator.toSeq
      for {
        mode <- modes.get(c.getClass.getName)
        target <- parts.collectFirst { case l: LogicalPlan => l }
      } yield Parts(
        mode,
        target,
        parts.collectFirst { case Some(t: CatalogTable) => t },
        parts.collectFirst { case Some(e: Expression) => e },
        parts.collectFirst { case s: Seq[?] => s.collect { case e: Expression => e } }.getOrElse(Nil)
      )
    case _ => None
  }
}

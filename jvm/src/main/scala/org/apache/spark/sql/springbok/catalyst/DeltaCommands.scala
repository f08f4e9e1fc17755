package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.FileIndex

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
  ) {

    /** The condition by which source and target meet. */
    def on: Expression = conditions.head
  }

  /** Whether this is the command of Delta itself. */
  def isOfDelta(p: LogicalPlan): Boolean =
    p.getClass.getName == "org.apache.spark.sql.delta.commands.MergeIntoCommand"

  /** Whether it changes rows that are NOT MATCHED BY SOURCE. */
  def changesUnmatched(p: LogicalPlan): Boolean =
    clauses(p).exists(_.getClass.getSimpleName.contains("NotMatchedBySource"))

  /** The same statement with another source and condition. */
  def copied(p: LogicalPlan, parts: Parts)(source: LogicalPlan, on: Expression): LogicalPlan =
    p.makeCopy(p.productIterator.map {
      case s: LogicalPlan if s eq parts.source => source
      case e: Expression if e eq parts.on => on
      case other => other.asInstanceOf[AnyRef]
    }.toArray)

  private def clauses(p: LogicalPlan): Seq[Expression] =
    p.productIterator.collect { case s: Seq[?] => s.collect { case e: Expression => e } }.flatten.toSeq

  def unapply(p: LogicalPlan): Option[Parts] = p match {
    case c: Command =>
      val parts = c.productIterator.toSeq
      val plans = parts.collect { case l: LogicalPlan => l }
      val condition = parts.collect { case e: Expression => e }
      val inClauses = clauses(p).flatMap(_.children)
      val assigned = inClauses.collect { case Assignment(column, value) => column -> value }
      Option.when(plans.size == 2 && condition.size == 1 && (assigned.nonEmpty || isOfDelta(p))) {
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

/** The files of a table of Delta as one version has them. */
private[springbok] object DeltaVersion {

  /** An index that goes on to read the version that it reads now, as a query with VERSION AS OF does; None if it is not Delta's. */
  def pinned(index: FileIndex): Option[FileIndex] = index match {
    case p: Product if index.getClass.getName == "org.apache.spark.sql.delta.files.TahoeLogFileIndex" =>
      val description =
        index.getClass.getClassLoader.loadClass("org.apache.spark.sql.delta.SnapshotDescriptor")
      val now = index.getClass.getMethod("getSnapshot").invoke(index)
      val parts = p.productIterator.map {
        // The only boolean says whether a query names the version.
        case _: Boolean => java.lang.Boolean.TRUE
        case other if description.isInstance(other) => now
        case other => other.asInstanceOf[AnyRef]
      }.toSeq
      val copy = index.getClass.getMethods.find(m => m.getName == "copy" && m.getParameterCount == parts.size)
      copy.map(_.invoke(index, parts: _*).asInstanceOf[FileIndex])
    case _ => None
  }
}

package org.apache.spark.sql.springbok.catalyst

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.types.DataType

/**
 * The fingerprint of a query: 16 hexadecimal digits that stay the same from run to run, whatever its literals are.
 *
 * It is made of the analyzed plan: of operators, expressions, and the tables' names and columns. Left out are literals, the
 * number of values in a list, names that the query gives to columns, and the paths of files without a name, which often have a
 * date in them. Two queries that differ in these alone have one fingerprint.
 */
private[springbok] object Fingerprint {
  def of(analyzed: LogicalPlan): String = {
    val digest = MessageDigest.getInstance("SHA-256")
    new Fingerprint(t => digest.update(s"$t\n".getBytes(UTF_8))).plan(analyzed)
    digest.digest().take(8).map(b => f"$b%02x").mkString
  }
}

final private class Fingerprint(add: String => Unit) {

  /** Columns of tables by their names, others in the order in which they appear. */
  private val columns = mutable.HashMap.empty[ExprId, String]

  def plan(p: LogicalPlan): Unit = p match {
    case r: CommandResult => plan(r.commandLogicalPlan)
    // Hints and names of relations change no rows.
    case _: ResolvedHint | _: SubqueryAlias | _: View => p.children.foreach(plan)
    // Columns of a WITH may have literals in their names.
    case ref: CTERelationRef => add(s"${ref.nodeName}(${ref.output.size})")
    case leaf: LeafNode if leaf.innerChildren.isEmpty => table(leaf)
    case _ =>
      val inner = p.innerChildren.collect { case l: LogicalPlan => l }
      (p.children ++ inner.filterNot(p.children.contains)).foreach(plan)
      p.subqueries.foreach(plan)
      add(p.nodeName + joinType(p) + p.expressions.map(text).mkString("(", ",", ")"))
  }

  private def table(leaf: LogicalPlan): Unit = {
    leaf.output.foreach(a => columns.getOrElseUpdate(a.exprId, a.name))
    val name = leaf match {
      case FileTable(r, _) if r.catalogTable.isEmpty => None
      case BaseTable(name) => Some(name)
      case _ => None
    }
    add(name.getOrElse(leaf.nodeName) + leaf.output.map(_.name).mkString("(", ",", ")"))
  }

  private def joinType(p: LogicalPlan): String = p match {
    case j: Join => j.joinType.sql
    case _ => ""
  }

  private def text(e: Expression): String = e match {
    case a: Alias => text(a.child)
    case a: Attribute => columns.getOrElseUpdate(a.exprId, s"_${columns.size}")
    case r: OuterReference => text(r.e)
    case _: Literal => "?"
    case In(value, list) => s"in(${text(value)},${list.map(text).distinct.mkString(",")})"
    case other =>
      s"${other.prettyName}${details(other).mkString("[", ",", "]")}${other.children.map(text).mkString("(", ",", ")")}"
  }

  /** What an expression has beside its children, such as the type of a cast or the name of a function. */
  private def details(e: Expression): Iterator[String] = e.productIterator.collect {
    case b: Boolean => b.toString
    case s: String => s
    case t: DataType => t.catalogString
    case d: SortDirection => d.sql
  }
}

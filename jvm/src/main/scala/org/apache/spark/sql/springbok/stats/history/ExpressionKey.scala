package org.apache.spark.sql.springbok.stats.history

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.types.{DataType, Decimal}
import org.apache.spark.unsafe.types.UTF8String

/**
 * The digest of an expression: equal for expressions that have equal values in equal rows, whatever the numbers of their
 * attributes, the order of commutative operands and of lists, and the names of their results.
 *
 * None for what is not deterministic, for subqueries, for functions of users, whose code may change under the same name, and
 * for expressions with parts that this class does not know.
 *
 * @param literals
 *   whether the values of literals count, or only their types
 * @param column
 *   the digest of an attribute's column
 */
final private[history] class ExpressionKey(literals: Boolean, column: Attribute => Option[Digest]) {

  def apply(e: Expression): Option[Digest] = e match {
    case a: Attribute => column(a)
    case Alias(child, _) => apply(child)
    case l: Literal => literal(l.value, l.dataType)
    case _ if !e.deterministic => None
    case _: PlanExpression[?] | _: UserDefinedExpression => None
    case _: EqualTo | _: EqualNullSafe | _: And | _: Or | _: Add | _: Multiply => commutative(e)
    case GreaterThan(l, r) => apply(LessThan(r, l))
    case GreaterThanOrEqual(l, r) => apply(LessThanOrEqual(r, l))
    case In(value, list) => member(value, Digest.all(list)(apply))
    case InSet(value, set) => member(value, Digest.all(set.toSeq)(literal(_, value.dataType)))
    // Its id is another one in each query.
    case a: AggregateExpression =>
      for (f <- apply(a.aggregateFunction); where <- Digest.all(a.filter)(apply))
        yield Digest.of(s"aggregate ${a.isDistinct}", f +: where)
    case other => Digest.all(other.productIterator.toSeq)(part).map(Digest.of(other.getClass.getName, _))
  }

  private def commutative(e: Expression): Option[Digest] =
    // What else the operator is told, such as ANSI's checks, changes errors and no value.
    Digest.all(e.children)(apply).map(Digest.unordered(e.getClass.getName, _))

  private def member(value: Expression, list: Option[Seq[Digest]]): Option[Digest] =
    for (v <- apply(value); values <- list) yield Digest.of("in", v, Digest.unordered("list", values))

  private def literal(value: Any, t: DataType): Option[Digest] = {
    val kind = Digest.text(t.catalogString)
    if (!literals) Some(Digest.of("literal", kind))
    else
      ExpressionKey.shown(value).map(v => Digest.of("literal", kind, Digest.text(v)))
  }

  private def part(x: Any): Option[Digest] = x match {
    case e: Expression => apply(e)
    case t: DataType => Some(Digest.text(t.catalogString))
    case None => Some(Digest.text("none"))
    case Some(y) => part(y).map(Digest.of("some", _))
    case s: Seq[?] => Digest.all(s)(part).map(Digest.of("list", _))
    // Functions that Spark calls by the name of a class.
    case c: Class[?] if c.getName.startsWith("org.apache.spark.") => Some(Digest.text(c.getName))
    case v: Enumeration#Value => Some(Digest.text(v.toString))
    case p: Product if p.getClass.getName.startsWith("org.apache.spark.") =>
      Digest.all(p.productIterator.toSeq)(part).map(Digest.of(p.getClass.getName, _))
    case other => ExpressionKey.shown(other).map(Digest.text)
  }
}

private[history] object ExpressionKey {

  /** A simple value in Catalyst's representation; None for all others. */
  def shown(value: Any): Option[String] = value match {
    case null => Some("null")
    case s: String => Some(s"s$s")
    case s: UTF8String => Some(s"s$s")
    case c: Char => Some(s"c$c")
    case n @ (_: Boolean | _: Byte | _: Short | _: Int | _: Long | _: Float | _: Double) => Some(n.toString)
    case d: Decimal => Some(d.toString)
    case _ => None
  }
}

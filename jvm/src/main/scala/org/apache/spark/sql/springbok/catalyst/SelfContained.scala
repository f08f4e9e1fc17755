package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/**
 * Expressions whose value follows from their columns, their own fields and the session's settings alone: two of them that are
 * equal, field by field, have equal values in equal rows. Columns are given by their positions. It is a list of expressions
 * that are known to be so. Everything else is left out, such as functions of users, subqueries, variables and what is not
 * deterministic.
 */
object SelfContained {
  def apply(e: Expression): Boolean = e match {
    case l: Literal => tellsValues(l)
    case _ => known(e) && e.deterministic && isSparks(e) && e.children.forall(apply)
  }

  private def known(e: Expression): Boolean = e match {
    case _: BoundReference => true
    case _: BinaryComparison | _: And | _: Or | _: Not | _: In | _: InSet => true
    case _: IsNull | _: IsNotNull | _: Coalesce | _: If | _: CaseWhen => true
    case _: StringPredicate | _: Like | _: RLike | _: Upper | _: Lower | _: Length | _: Substring => true
    case _: BinaryArithmetic | _: Cast | _: XxHash64 => true
    case _: Year | _: Quarter | _: Month | _: DayOfMonth => true
    case _ => false
  }

  /** A class of a user may extend one of Spark's. */
  private def isSparks(e: Expression): Boolean =
    e.getClass.getName.startsWith("org.apache.spark.sql.catalyst.expressions.")

  /** Whether equal literals are the same value. Floating-point zeros are equal whatever their sign is. */
  private def tellsValues(l: Literal): Boolean = l.dataType match {
    case FloatType | DoubleType => l.value != 0
    case _: AtomicType => !SparkTypes.isVariant(l.dataType)
    case NullType => true
    case _ => false
  }

  /** The number of its parts, the values of lists included. */
  def size(e: Expression): Int = e match {
    case InSet(child, values) => 1 + values.size + size(child)
    case _ => 1 + e.children.map(size).sum
  }
}

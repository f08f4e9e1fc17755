package org.apache.spark.sql.springbok.cost

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.springbok.catalyst.SparkTypes
import org.apache.spark.sql.types._

/**
 * ns that an expression takes for one row once its columns are read: orders of magnitude, measured on generated code over
 * TPC-H's lineitem and part. What matters is that a text search costs dozens of comparisons, and user code hundreds.
 */
object ExpressionCost {
  val comparison = 1.0
  val textComparison = 5.0

  /** Looking a value up in the hash set of a long IN list. */
  val lookup = 15.0

  /** Searching for a text, a pattern of LIKE, a regular expression. */
  val search = 20.0
  val pattern = 100.0
  val regex = 200.0

  /** Making a text of a number, or a number of a text. */
  val text = 20.0

  /** An unknown function. */
  val function = 30.0

  /** A user-defined function, whose arguments and result are converted. */
  val userDefined = 200.0

  def apply(e: Expression): Double = own(e) + e.children.map(apply).sum

  private def own(e: Expression): Double = e match {
    case _: Attribute | _: Literal | _: ScalarSubquery => 0
    case _: BinaryComparison => compare(e.children.head.dataType)
    case In(value, list) => compare(value.dataType) * list.size
    case s: InSet => lookup + compare(s.child.dataType)
    case _: StartsWith | _: EndsWith => textComparison
    case _: Contains => search
    case _: Like | _: MultiLikeBase => pattern
    case _: RLike => regex
    case _: And | _: Or | _: Not | _: IsNull | _: IsNotNull | _: IsNaN | _: If | _: CaseWhen | _: Coalesce =>
      comparison
    case c: Cast => if (number(c.child.dataType) && number(c.dataType)) comparison else text
    case _: BinaryArithmetic | _: UnaryMinus | _: DateAdd | _: DateSub => comparison
    case _: ScalaUDF | _: UserDefinedExpression => userDefined
    case _ => function
  }

  private def compare(t: DataType): Double = if (number(t)) comparison else textComparison

  private def number(t: DataType): Boolean = t match {
    case d: DecimalType => d.precision <= Decimal.MAX_LONG_DIGITS
    case _: StringType | BinaryType => false
    case t if SparkTypes.isVariant(t) => false
    case _: AtomicType => true
    case _ => false
  }
}

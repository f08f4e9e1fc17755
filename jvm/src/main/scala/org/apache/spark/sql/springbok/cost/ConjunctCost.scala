package org.apache.spark.sql.springbok.cost

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.springbok.catalyst.SparkTypes
import org.apache.spark.sql.springbok.stats.estimate.Selectivity
import org.apache.spark.sql.types._

/**
 * The order in which conjuncts cost least: Impala's greedy order (`PlanNode.orderConjunctsByCost`). A pure function of
 * numbers.
 */
object ConjunctCost {

  /** An order is only changed to one that is expected to cost at most this fraction of it. */
  val margin = 0.9

  /**
   * A conjunct.
   *
   * @param cost
   *   ns to evaluate it for one row
   * @param selectivity
   *   fraction of the rows that pass it, None if unknown
   * @param mayRaise
   *   whether it may fail on some row: then everything before it, which may guard it, must stay before it
   */
  final case class Conjunct(cost: Double, selectivity: Option[Double], mayRaise: Boolean)

  /**
   * The positions of `conjuncts` in the order of evaluation. The next is always the one that minimizes
   * `cost + (total - cost) × selectivity^(1/(k+1))`, where total is the cost of all that remain and k the number of those
   * taken before. Ties keep their order.
   */
  def order(conjuncts: Seq[Conjunct]): Seq[Int] = {
    val selectivities = selectivity(conjuncts)
    def next(left: Seq[Int], k: Int): List[Int] = {
      val total = left.map(conjuncts(_).cost).sum
      val free = left.filter(i => !conjuncts(i).mayRaise || left.head == i)
      if (free.isEmpty) Nil
      else {
        val best = free.minBy { i =>
          val cost = conjuncts(i).cost
          cost + (total - cost) * math.pow(selectivities(i), 1.0 / (k + 1))
        }
        best :: next(left.filter(_ != best), k + 1)
      }
    }
    next(conjuncts.indices, 0)
  }

  /** ns a row in this order: each conjunct is evaluated for the rows that passed those before it. */
  def total(conjuncts: Seq[Conjunct], order: Seq[Int]): Double = {
    val selectivities = selectivity(conjuncts)
    order
      .foldLeft((0.0, 1.0)) { case ((sum, passed), i) =>
        (sum + passed * conjuncts(i).cost, passed * selectivities(i))
      }
      ._1
  }

  private def selectivity(conjuncts: Seq[Conjunct]): Seq[Double] = {
    val unknown = math.max(1, conjuncts.count(_.selectivity.isEmpty))
    conjuncts.map(_.selectivity.getOrElse(math.pow(Selectivity.default, 1.0 / unknown)))
  }
}

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

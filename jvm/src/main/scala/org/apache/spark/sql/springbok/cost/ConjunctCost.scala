package org.apache.spark.sql.springbok.cost

import org.apache.spark.sql.springbok.stats.estimate.Selectivity

/**
 * In which order conjuncts cost least: Impala's greedy order (`PlanNode.orderConjunctsByCost`). Pure: numbers in, an order
 * out.
 */
object ConjunctCost {

  /** An order is only changed for one that is expected to cost at most this part of it. */
  val margin = 0.9

  /**
   * A conjunct.
   *
   * @param cost
   *   ns to evaluate it for one row
   * @param selectivity
   *   part of the rows that it keeps, None if unknown
   * @param mayRaise
   *   whether it may fail on some row: then everything that stands before it, and may be its guard, must stay there
   */
  final case class Conjunct(cost: Double, selectivity: Option[Double], mayRaise: Boolean)

  /**
   * The positions of `conjuncts` in the order of evaluation. Again and again the one is taken that minimizes
   * `cost + (total - cost) × selectivity^(1/(k+1))`, where total is what those that are left cost together and k is how
   * many have been taken; ties keep their order.
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

  /** ns a row in this order: each conjunct is evaluated for the rows that those before it have kept. */
  def total(conjuncts: Seq[Conjunct], order: Seq[Int]): Double = {
    val selectivities = selectivity(conjuncts)
    order
      .foldLeft((0.0, 1.0)) { case ((sum, kept), i) =>
        (sum + kept * conjuncts(i).cost, kept * selectivities(i))
      }
      ._1
  }

  private def selectivity(conjuncts: Seq[Conjunct]): Seq[Double] = {
    val unknown = math.max(1, conjuncts.count(_.selectivity.isEmpty))
    conjuncts.map(_.selectivity.getOrElse(math.pow(Selectivity.default, 1.0 / unknown)))
  }
}

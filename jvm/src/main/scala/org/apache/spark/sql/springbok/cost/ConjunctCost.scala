package org.apache.spark.sql.springbok.cost

import org.apache.spark.sql.springbok.stats.estimate.Selectivity

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

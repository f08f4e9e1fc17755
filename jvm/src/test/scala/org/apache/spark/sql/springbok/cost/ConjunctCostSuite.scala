package org.apache.spark.sql.springbok.cost

import org.apache.spark.sql.springbok.cost.ConjunctCost.Conjunct
import org.scalatest.funsuite.AnyFunSuite

class ConjunctCostSuite extends AnyFunSuite {
  private def c(cost: Double, selectivity: Double = -1, mayRaise: Boolean = false) =
    Conjunct(cost, Option.when(selectivity >= 0)(selectivity), mayRaise)

  private val cases = Seq(
    ("cheap before dear", Seq(c(100), c(1)), Seq(1, 0)),
    ("selective before not", Seq(c(1, 0.9), c(1, 0.1)), Seq(1, 0)),
    ("ties keep their order", Seq(c(5), c(5), c(5)), Seq(0, 1, 2)),
    (
      "a dear one that keeps little may come first",
      Seq(c(100, 0.9), c(20, 0.001), c(15, 0.95)),
      Seq(1, 2, 0)
    ),
    (
      "nothing that stood before one that may raise comes after it",
      Seq(c(100), c(1, mayRaise = true)),
      Seq(0, 1)
    ),
    ("what stood after it may come before", Seq(c(100, mayRaise = true), c(1)), Seq(1, 0)),
    (
      "those that may raise keep their order",
      Seq(c(9, mayRaise = true), c(1, mayRaise = true), c(5)),
      Seq(2, 0, 1)
    ),
    (
      "one that may raise may be the cheapest once its guards are passed",
      Seq(c(2), c(1, 0.1, mayRaise = true), c(200)),
      Seq(0, 1, 2)
    ),
    ("none", Nil, Nil)
  )

  for ((name, conjuncts, expected) <- cases) test(name) {
    val order = ConjunctCost.order(conjuncts)
    assert(order == expected)
    // Applied to its own result it changes nothing.
    assert(ConjunctCost.order(order.map(conjuncts)) == conjuncts.indices)
  }

  test("cost of an order: each conjunct is evaluated for the rows that are left") {
    val both = Seq(c(100, 0.5), c(1, 0.01))
    assert(ConjunctCost.total(both, Seq(0, 1)) == 100.5)
    assert(ConjunctCost.total(both, Seq(1, 0)) == 2.0)
  }

  test("all conjuncts of which nothing is known count as one of Impala's 0.1") {
    val three = Seq(c(1), c(1), c(1))
    val sel = math.pow(0.1, 1.0 / 3)
    assert(math.abs(ConjunctCost.total(three, Seq(0, 1, 2)) - (1 + sel + sel * sel)) < 1e-9)
  }
}

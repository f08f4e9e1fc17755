package org.apache.spark.sql.springbok.cost

import org.scalatest.funsuite.AnyFunSuite

/** The rows of joins, as they are expected and other than expected. */
class JoinGraphSuite extends AnyFunSuite {

  /** A fact 0 and its dimensions: 1 and 2 are filtered to a tenth, 3 is not. */
  private val relations = IndexedSeq(
    Relation(1e6, 1e6, 40, filterable = true),
    Relation(100, 1000, 20, filterable = true, more = 4, less = 4),
    Relation(10, 100, 20, filterable = true, more = 2, less = 4),
    Relation(50, 50, 20, filterable = true)
  )
  private val keys = new JoinKeys(
    IndexedSeq(3L, 5L, 9L),
    (_, _, classes) => Seq(1000.0, 100.0, 50.0)(classes.head),
    IndexedSeq(1L, 1L, 9L)
  )
  private val graph = new JoinGraph(relations, keys)

  private def near(a: Double, b: Double): Boolean = math.abs(a / b - 1) < 1e-9

  test("scenarios are about filtered relations and about keys that are repeated on both sides") {
    import Scenario._
    assert(Scenario.of(graph) == Seq(More(1), More(2), Less(1), Less(2), Skewed(2)))
    assert(near(graph.assuming(More(2)).rows(5), 2 * graph.rows(5)))
    assert(near(graph.assuming(Less(1)).rows(7), graph.rows(7) / 4))
    assert(near(graph.assuming(Skewed(2)).rows(9), 4 * graph.rows(9)))
    assert(near(graph.assuming(NothingGuessed).rows(7), 100 * graph.rows(7)))
    assert(graph.assuming(NothingGuessed).bound(7) == graph.bound(7))
  }
}

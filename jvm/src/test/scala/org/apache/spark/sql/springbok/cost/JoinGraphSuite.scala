package org.apache.spark.sql.springbok.cost

import org.scalatest.funsuite.AnyFunSuite

/** The rows of joins, as far as they are estimated, known, or other than expected. */
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

  test("what is known of a set corrects the sets that it is part of, and no others") {
    val known = new JoinGraph(relations, keys, Map(3L -> 5e5))
    assert(near(graph.rows(3), 1e5) && known.rows(3) == 5e5)
    assert(near(known.rows(7), 5 * graph.rows(7)) && near(known.rows(15), 5 * graph.rows(15)))
    assert(known.rows(5) == graph.rows(5) && known.rows(1) == 1e6)
  }

  test("sets with one relation in common both count, of others the larger one") {
    val two = new JoinGraph(relations, keys, Map(3L -> 5e5, 5L -> 2e5))
    assert(near(two.rows(7), 10 * graph.rows(7)))
    val nested = new JoinGraph(relations, keys, Map(3L -> 5e5, 7L -> 1e3))
    assert(nested.rows(7) == 1e3 && near(nested.rows(15), graph.rows(15) * 1e3 / graph.rows(7)))
  }

  test("scenarios are about filtered relations and about keys that are repeated on both sides") {
    import Scenario._
    assert(Scenario.of(graph) == Seq(More(1), More(2), Less(1), Less(2), Skewed(2)))
    assert(near(graph.assuming(More(2)).rows(5), 2 * graph.rows(5)))
    assert(near(graph.assuming(Less(1)).rows(7), graph.rows(7) / 4))
    assert(near(graph.assuming(Skewed(2)).rows(9), 4 * graph.rows(9)))
    assert(near(graph.assuming(NothingGuessed).rows(7), 100 * graph.rows(7)))
    assert(graph.assuming(NothingGuessed).bound(7) == graph.bound(7))
  }

  test("what is known is the same in all scenarios") {
    val known = new JoinGraph(relations, keys, Map(3L -> 5e5))
    for (s <- Seq(Scenario.More(1), Scenario.Less(1), Scenario.NothingGuessed)) {
      val other = known.assuming(s)
      assert(other.rows(3) == 5e5)
      assert(near(other.rows(11), known.rows(11)))
    }
  }
}

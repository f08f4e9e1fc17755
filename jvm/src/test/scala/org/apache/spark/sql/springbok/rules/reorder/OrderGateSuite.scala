package org.apache.spark.sql.springbok.rules.reorder

import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation
import org.apache.spark.sql.springbok.cost._
import org.apache.spark.sql.springbok.cost.JoinTree.{Leaf, Node}
import org.scalatest.funsuite.AnyFunSuite

/** What another order must save. */
class OrderGateSuite extends AnyFunSuite {
  private val cluster = Cluster(1, 2, 4L << 30, 4L << 30, 200)
  private val tree = Node(Node(Leaf(0), Leaf(1)), Leaf(2))
  private val other = Node(Node(Leaf(0), Leaf(2)), Leaf(1))
  private val items = IndexedSeq.fill(3)(OneRowRelation())

  /** A fact of 10 million rows, and two dimensions of 1,000 rows with their filters. */
  private def against(
      first: Relation,
      second: Relation,
      share: Double = 0.1,
      ms: Double = 50
  ): Option[String] = {
    val relations = IndexedSeq(Relation(1e7, 1e7, 40, filterable = false), first, second)
    val keys = new JoinKeys(IndexedSeq(3L, 5L), (_, _, _) => 1000, IndexedSeq(1L, 1L))
    val graph = new JoinGraph(relations, keys)
    val cost = new JoinOrderCost(graph, cluster, 1e8, waitNs = 0, mostRetained = 0.9)
    val block = JoinBlock(items, Nil, tree, hinted = false)
    val c = OrderCandidate(block, graph, cost, 1e8, other, OrderLimits(share, ms, cluster.cores))
    OrderGate.against(c).map(_.code)
  }

  private def dimension(rows: Double, bound: Double = 0, more: Double = 1, less: Double = 1) =
    Relation(rows, math.max(rows, bound), 20, filterable = false, more, less)

  test("an order must save a part of the whole, and some time") {
    assert(against(dimension(900), dimension(10)).isEmpty)
    assert(against(dimension(10), dimension(900)).contains("SMALL_GAIN"))
    assert(against(dimension(900), dimension(10), share = 0.9).contains("SMALL_GAIN"))
    assert(against(dimension(900), dimension(10), ms = 1000).contains("SMALL_GAIN"))
  }

  test("an order must not lose if estimates are off") {
    assert(against(dimension(900), dimension(10, more = 4, less = 4)).isEmpty)
    assert(against(dimension(500, less = 4), dimension(300, more = 3), ms = 10).contains("UNCERTAIN_GAIN"))
    assert(against(dimension(500), dimension(100)).isEmpty)
    assert(against(dimension(500), dimension(100, bound = 1000)).contains("UNCERTAIN_GAIN"))
  }
}

package org.apache.spark.sql.springbok.cost

import scala.util.Random

import org.apache.spark.sql.springbok.cost.JoinTree.{Leaf, Node}
import org.scalatest.funsuite.AnyFunSuite

class JoinOrderSearchSuite extends AnyFunSuite {
  private val all = Int.MaxValue
  private val cluster = Cluster(2, 4, 4L << 30, 4L << 30, 200)

  /** Relations with their rows and foreign keys (from, to, distinct keys). */
  private def graph(rows: Seq[Double], keys: (Int, Int, Double)*): JoinGraph = new JoinGraph(
    rows.map(n => Relation(n, n, 40, filterable = true)).toIndexedSeq,
    new JoinKeys(
      keys.map { case (i, j, _) => 1L << i | 1L << j }.toIndexedSeq,
      (_, _, classes) => classes.map(keys(_)._3).product
    )
  )

  private def cost(g: JoinGraph) = new JoinOrderCost(g, cluster, 10e6, waitNs = 0, mostRetained = 0.9)

  private def search(g: JoinGraph, most: Int) = new JoinOrderSearch(g, cost(g), most).best(inOrder(g))

  private def inOrder(g: JoinGraph): JoinTree =
    (0 until g.size).map(i => Leaf(i): JoinTree).reduce[JoinTree](Node(_, _))

  private def trees(g: JoinGraph, set: Long): Seq[JoinTree] =
    if (java.lang.Long.bitCount(set) == 1) Seq(Leaf(java.lang.Long.numberOfTrailingZeros(set)))
    else
      for {
        a <- 1L until set
        if (a & ~set) == 0 && (a & (set & -set)) != 0 && g.connects(a, set & ~a)
        l <- trees(g, a)
        r <- trees(g, set & ~a)
      } yield Node(l, r)

  private def local(g: JoinGraph, t: JoinTree): Double = t match {
    case Leaf(_) => 0
    case Node(l, r) => local(g, l) + local(g, r) + cost(g).join(l.set, r.set)
  }

  /** fact 0; dimensions 1, 2 (large), 3; 4 filters 2. */
  private val snowflake =
    graph(Seq(6e7, 1e4, 1e7, 2e5, 1e3), (0, 1, 1e4), (0, 2, 1e7), (0, 3, 2e5), (2, 4, 1e6))

  test("rows of a set: each foreign key divides by what it refers to") {
    assert(math.abs(snowflake.rows(3) / 6e7 - 1) < 1e-9)
    assert(math.abs(snowflake.rows(5) / 6e7 - 1) < 1e-9)
    assert(math.abs(snowflake.rows(snowflake.all) / 6e4 - 1) < 1e-9)
  }

  test("a class of equal columns counts once, however many relations have it") {
    val g = new JoinGraph(
      IndexedSeq(1000, 100, 100).map(n => Relation(n, n, 8, filterable = true)),
      new JoinKeys(IndexedSeq(7L), (_, _, _) => 100)
    )
    assert(g.rows(7) == 1000)
    assert(g.connects(1, 4))
  }

  test("what reduces a dimension is joined to it before the dimension is joined to the fact") {
    val best = search(snowflake, all)
    assert(best.joined.contains(4L | 16L), best)
  }

  test("dynamic programming finds the cheapest of all trees without a cartesian product") {
    val random = new Random(3)
    for (_ <- 1 to 20) {
      val rows = Seq.fill(5)(math.pow(10, 1 + random.nextDouble() * 6))
      val keys = (1 until 5).map(i => (random.nextInt(i), i, math.pow(10, 1 + random.nextDouble() * 4)))
      val g = graph(rows, keys: _*)
      val least = trees(g, g.all).map(local(g, _)).min
      assert(local(g, new JoinOrderSearch(g, cost(g), all).byParts) <= least * (1 + 1e-9))
    }
  }

  test(
    "the order found is cheaper than any other, filters of joins above included, and never costs more than the query's"
  ) {
    val random = new Random(5)
    for (_ <- 1 to 20) {
      val rows = Seq.fill(5)(math.pow(10, 1 + random.nextDouble() * 6))
      val keys = (1 until 5).map(i => (random.nextInt(i), i, math.pow(10, 1 + random.nextDouble() * 4)))
      val g = graph(rows, keys: _*)
      val every = trees(g, g.all)
      val found = cost(g)(search(g, all))
      assert(found <= every.map(cost(g)(_)).min * 1.05)
      assert(found <= cost(g)(inOrder(g)))
    }
  }

  for (shape <- Seq("star", "chain", "clique"); n <- Seq(10, 30); most <- Seq(0, 3100, all))
    test(s"$shape of $n relations, of which $most joins may be compared") {
      val keys = shape match {
        case "star" => (1 until n).map(i => (0, i, 1000.0))
        case "chain" => (1 until n).map(i => (i - 1, i, 1000.0))
        case _ => for (i <- 0 until n; j <- 0 until i) yield (j, i, 1000.0)
      }
      val g = graph(1e7 +: Seq.tabulate(n - 1)(i => 10.0 + i * 30), keys: _*)
      val best = search(g, most)
      assert(best.set == g.all && best.joined.size == n - 1)
    }

  test("what no equality connects is joined last") {
    val g = graph(Seq(1e6, 1e3, 5, 1e4), (0, 1, 1e3), (0, 3, 1e4))
    val best = search(g, all)
    assert(g.components.size == 2 && best.joined.contains(11L))
  }

  test("a runtime filter of a join above lessens what the joins below it process") {
    val g = graph(Seq(1e8, 2e7, 2e6), (0, 1, 2e7), (0, 2, 2e8))
    val without = new JoinGraph(
      g.relations.map(_.copy(filterable = false)),
      new JoinKeys(IndexedSeq(3L, 5L), (_, _, c) => Seq(2e7, 2e8)(c.head))
    )
    val tree = Node(Node(Leaf(0), Leaf(1)), Leaf(2))
    assert(cost(g)(tree) < cost(without)(tree) / 5)
  }

  test("a filter of a join above does not make its target the build side") {
    // Titles, companies, keywords of titles, one keyword. The keyword leaves 35 rows of the third relation.
    val g = graph(Seq(2.5e5, 2.6e4, 4.5e5, 1), (0, 1, 2.5e5), (0, 2, 2.5e5), (2, 3, 1.3e4))
    val tree = Node(Node(Node(Leaf(0), Leaf(1)), Leaf(2)), Leaf(3))
    assert(cost(g)(tree) > 2.5e5 * FilterCost.lookup(2.6e4, integral = true, dense = false))
  }

  test("a build side waits if it is a join, or if a filter reaches it") {
    val g = graph(Seq(1e6, 1e5, 10), (0, 1, 1e5), (1, 2, 1e3))
    def cost(waitNs: Double) = new JoinOrderCost(g, cluster, 1e8, waitNs, 0.9)
    def waiting(t: JoinTree) = (cost(1e6)(t) - cost(0)(t)) / (1e6 * cluster.cores)
    val (bushy, deep) =
      (Node(Leaf(0), Node(Leaf(1), Leaf(2))), Node(Node(Leaf(0), Leaf(1)), Leaf(2)))
    assert(math.round(waiting(bushy)) == 1 && math.round(waiting(deep)) == 1)
  }
}

package org.apache.spark.sql.springbok.cost

import scala.collection.mutable

import org.apache.spark.sql.springbok.cost.JoinTree.{Leaf, Node}

/**
 * Searches an order of joins of low cost: of up to `exhaustive` relations by dynamic programming over connected sets, bushy
 * trees included; of more greedily, joining again and again the two sets with the smallest result (GOO). Sets that no
 * equality connects are joined last, the smallest first.
 */
final class JoinOrderSearch(graph: JoinGraph, cost: JoinOrderCost, exhaustive: Int) {

  def best: JoinTree = {
    val parts = graph.components.map { c =>
      if (java.lang.Long.bitCount(c) <= exhaustive) programmed(c) else greedy(c)
    }
    parts.sortBy(p => graph.rows(p.set)).reduce[JoinTree] { (a, b) =>
      if (graph.rows(a.set) >= graph.rows(b.set)) Node(a, b) else Node(b, a)
    }
  }

  /** The cheapest order of a connected set, by those of its subsets. */
  private def programmed(set: Long): JoinTree = {
    val found = new mutable.LongMap[(Double, JoinTree)]
    graph.members(set).foreach(i => found(graph.bit(i)) = 0.0 -> Leaf(i))
    // Subsets in ascending order: a set comes after its subsets.
    var s = (-set) & set
    while (s != 0) {
      if ((s & (s - 1)) != 0) cheapest(s, found).foreach(found(s) = _)
      s = (s - set) & set
    }
    found(set)._2
  }

  private def cheapest(s: Long, found: mutable.LongMap[(Double, JoinTree)]): Option[(Double, JoinTree)] = {
    val lowest = s & -s
    var best: Option[(Double, JoinTree)] = None
    var a = (s - 1) & s
    while (a != 0) {
      // Each split once: the part with the first relation is the left one.
      if ((a & lowest) != 0) {
        for (x <- found.get(a); y <- found.get(s & ~a) if graph.connects(a, s & ~a)) {
          val c = x._1 + y._1 + cost.join(a, s & ~a)
          if (best.forall(c < _._1)) best = Some(c -> Node(x._2, y._2))
        }
      }
      a = (a - 1) & s
    }
    best
  }

  private def greedy(set: Long): JoinTree = {
    val open = mutable.ArrayBuffer.from[JoinTree](graph.members(set).map(Leaf(_)))
    while (open.size > 1) {
      val pairs = for {
        i <- open.indices.iterator
        j <- (i + 1 until open.size).iterator
        if graph.connects(open(i).set, open(j).set)
      } yield (i, j)
      val (i, j) = pairs.minBy { case (i, j) => graph.rows(open(i).set | open(j).set) }
      val node = Node(open(i), open(j))
      open.remove(j)
      open(i) = node
    }
    open.head
  }
}

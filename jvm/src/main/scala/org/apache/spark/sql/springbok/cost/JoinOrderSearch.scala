package org.apache.spark.sql.springbok.cost

import scala.collection.mutable

import org.apache.spark.sql.springbok.cost.JoinTree.{Leaf, Node}

/**
 * Searches an order of joins of low cost: by dynamic programming over connected sets, bushy trees included, as long as that
 * compares few joins; else greedily, joining again and again the two sets with the smallest result (GOO). Sets that no
 * equality connects are joined last, the smallest first.
 *
 * Both methods ignore that a join's runtime filter reaches the joins below it, so the order that they find and the query's
 * own one are then improved step by step by the cost of whole orders ([[JoinTreeMoves]]).
 *
 * @param mostJoins
 *   the most joins of two sets that are compared, in each of the two parts of the search
 */
final class JoinOrderSearch(graph: JoinGraph, cost: JoinOrderCost, mostJoins: Int) {
  import JoinOrderSearch._

  /** @param written the order of the query */
  def best(written: JoinTree): JoinTree = {
    val moves = new JoinTreeMoves(graph, cost, mostJoins)
    Seq(byParts, written).map(moves.improved).minBy(cost(_))
  }

  /** The cheapest order if runtime filters reached no other joins. */
  private[cost] def byParts: JoinTree = {
    val parts = graph.components.map { c =>
      val all = if (java.lang.Long.bitCount(c) <= mostRelations) programmed(c) else None
      all.getOrElse(greedy(c))
    }
    parts.sortBy(p => graph.rows(p.set)).reduce[JoinTree] { (a, b) =>
      if (graph.rows(a.set) >= graph.rows(b.set)) Node(a, b) else Node(b, a)
    }
  }

  /** The cheapest order of a connected set, by those of its subsets; None if that takes too long. */
  private def programmed(set: Long): Option[JoinTree] = {
    var compared = 0
    val found = new mutable.LongMap[(Double, JoinTree)]
    graph.members(set).foreach(i => found(graph.bit(i)) = 0.0 -> Leaf(i))
    // Subsets in ascending order: a set comes after its subsets.
    var s = (-set) & set
    while (s != 0 && compared <= mostJoins) {
      if ((s & (s - 1)) != 0) {
        val splits = connected(s, found.contains)
        compared += splits.size
        val joins = splits.map { case (a, b) =>
          val ((left, x), (right, y)) = (found(a), found(b))
          (left + right + cost.join(a, b), Node(x, y))
        }
        joins.minByOption(_._1).foreach(found(s) = _)
      }
      s = (s - set) & set
    }
    Option.when(compared <= mostJoins)(found(set)._2)
  }

  /** The splits of a set into two sets that have an order and that an equality connects, each split once. */
  private def connected(s: Long, known: Long => Boolean): Seq[(Long, Long)] = {
    // The part with the first relation is the left one.
    val lowest = s & -s
    val left =
      Iterator.iterate((s - 1) & s)(a => (a - 1) & s).takeWhile(_ != 0).filter(a => (a & lowest) != 0)
    left
      .map(a => a -> (s & ~a))
      .filter { case (a, b) => known(a) && known(b) && graph.connects(a, b) }
      .toSeq
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

private object JoinOrderSearch {

  /** Relations up to which all sets are looked at: 3^10 splits, of which few are connected. */
  val mostRelations = 10
}

/**
 * Improves an order by the best of its neighbours, until none is cheaper. Neighbours join three sets that are joined next to
 * one another in another order: `(a ⋈ b) ⋈ c` becomes `(a ⋈ c) ⋈ b` or `(b ⋈ c) ⋈ a`.
 *
 * @param mostJoins
 *   the most joins of two sets whose cost is computed
 */
final private[cost] class JoinTreeMoves(graph: JoinGraph, cost: JoinOrderCost, mostJoins: Int) {
  private var left = mostJoins

  def improved(tree: JoinTree): JoinTree = descend(tree, cost(tree))

  @annotation.tailrec
  private def descend(tree: JoinTree, ns: Double): JoinTree = {
    val near = neighbours(tree)
    left -= near.size * (graph.size - 1)
    if (left < 0 || near.isEmpty) tree
    else {
      val (best, least) = near.map(t => t -> cost(t)).minBy(_._2)
      if (least < ns) descend(best, least) else tree
    }
  }

  private def neighbours(tree: JoinTree): Seq[JoinTree] = tree match {
    case Leaf(_) => Nil
    case Node(l, r) =>
      rotated(l, r) ++ rotated(r, l) ++ neighbours(l).map(Node(_, r)) ++ neighbours(r).map(Node(l, _))
  }

  private def rotated(inner: JoinTree, outer: JoinTree): Seq[JoinTree] = inner match {
    case Leaf(_) => Nil
    case Node(a, b) =>
      Seq(a -> b, b -> a).collect {
        case (near, far) if graph.connects(near.set, outer.set) => Node(Node(near, outer), far)
      }
  }
}

package org.apache.spark.sql.springbok.cost

import org.apache.spark.sql.springbok.cost.JoinTree.{Leaf, Node}

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

package org.apache.spark.sql.springbok.rules.reorder

import scala.collection.mutable

import org.apache.spark.sql.springbok.cost.JoinTree
import org.apache.spark.sql.springbok.stats.estimate.Estimate
import org.apache.spark.sql.springbok.stats.history.QueryHistory

/**
 * The rows of joins of several relations of a block that finished queries have counted, whatever order they had.
 *
 * Not all sets are looked up. A query that has joined four relations has mostly joined two and three of them as well. So the
 * pairs are looked up, then what is one relation more than a set that is known, and two known sets together.
 */
private[reorder] object LearnedSets {

  /** A lookup takes some tens of microseconds. */
  private val mostLookups = 200

  /**
   * The joins of the query's own order. They are looked up first: most joins are too short for another order.
   */
  def ofTree(b: JoinBlock, history: QueryHistory): Map[Long, Double] =
    nodes(b.tree).flatMap(set => rows(b, set, history).map(set -> _)).toMap

  /**
   * @param connects
   *   whether an equality connects two sets
   */
  def of(b: JoinBlock, connects: (Long, Long) => Boolean, history: QueryHistory): Map[Long, Double] = {
    val found = mutable.LinkedHashMap.empty[Long, Double]
    val asked = mutable.HashSet.empty[Long]
    val each = b.items.indices.map(1L << _)
    def joined(some: Iterable[Long], others: Iterable[Long]): Seq[Long] =
      (for (s <- some; o <- others if (s & o) == 0 && connects(s, o)) yield s | o).toSeq.distinct
    var open = (nodes(b.tree) ++ joined(each, each)).distinct
    while (open.nonEmpty) {
      val known = for {
        set <- open if asked.size < mostLookups && asked.add(set)
        n <- rows(b, set, history)
      } yield set -> n
      found ++= known
      open = joined(known.map(_._1), each ++ found.keys).filterNot(asked.contains)
      if (asked.size >= mostLookups) open = Nil
    }
    found.toMap
  }

  private def rows(b: JoinBlock, set: Long, history: QueryHistory): Option[Double] =
    history.applied(b.joined(set), Estimate.unknown(Nil), 1.0).rows.map(_.value)

  private def nodes(tree: JoinTree): Seq[Long] = tree match {
    case JoinTree.Leaf(_) => Nil
    case JoinTree.Node(l, r) => nodes(l) ++ nodes(r) :+ tree.set
  }
}

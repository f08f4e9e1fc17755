package org.apache.spark.sql.springbok.rules.reorder

import scala.collection.mutable

import org.apache.spark.sql.springbok.cost.JoinGraph
import org.apache.spark.sql.springbok.stats.history.QueryHistory

/**
 * The rows of joins of several relations of a block that finished queries have counted, whatever order they had.
 *
 * Not all sets are looked up. A query that has joined four relations has mostly joined two and three of them as well. So the
 * pairs are looked up, then what is one relation more than a set that is known, and two known sets together.
 */
final private[reorder] class LearnedSets(b: JoinBlock, history: QueryHistory) {
  import LearnedSets._

  private val learned = history.joins(b.items, b.conditions)
  private val lookups = mutable.HashMap.empty[Long, Option[Double]]

  /** The joins of the query's own order. They are looked up first: most joins are too short for another order. */
  def ofTree: Map[Long, Double] = b.tree.joined.flatMap(set => rows(set).map(set -> _)).toMap

  /**
   * The joins that orders may have.
   *
   * @param connects
   *   whether an equality connects two sets
   */
  def all(connects: (Long, Long) => Boolean): Map[Long, Double] = {
    val found = mutable.LinkedHashMap.empty[Long, Double]
    val asked = mutable.HashSet.empty[Long]
    val each = b.items.indices.map(1L << _)
    def joined(some: Iterable[Long], others: Iterable[Long]): Seq[Long] =
      (for (s <- some; o <- others if (s & o) == 0 && connects(s, o)) yield s | o).toSeq.distinct
    var open = (b.tree.joined ++ joined(each, each)).distinct
    while (open.nonEmpty) {
      val known = for {
        set <- open if asked.size < mostLookups && asked.add(set)
        n <- rows(set)
      } yield set -> n
      found ++= known
      open = joined(known.map(_._1), each ++ found.keys).filterNot(asked.contains)
      if (asked.size >= mostLookups) open = Nil
    }
    found.toMap
  }

  private def rows(set: Long): Option[Double] =
    lookups.getOrElseUpdate(set, learned(JoinGraph.members(set).toSeq))
}

private object LearnedSets {

  /** A lookup takes some tens of microseconds. */
  val mostLookups = 200
}

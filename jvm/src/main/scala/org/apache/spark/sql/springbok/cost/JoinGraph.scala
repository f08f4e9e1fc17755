package org.apache.spark.sql.springbok.cost

import scala.collection.mutable

/**
 * A relation that is joined.
 *
 * @param rows
 *   expected rows
 * @param bound
 *   rows that are not exceeded
 * @param rowBytes
 *   bytes of a row in memory
 * @param filterable
 *   whether a runtime filter may reach a scan in it
 * @param more,
 *   less factors, 1 or more, by which what the relation leaves of a join may exceed what is expected, and fall below it
 */
final case class Relation(
    rows: Double,
    bound: Double,
    rowBytes: Double,
    filterable: Boolean,
    more: Double = 1,
    less: Double = 1
)

/**
 * The equalities between relations. Sets of relations are bits of a long.
 *
 * @param classes
 *   classes of equal columns; of each the relations that have one
 * @param domain
 *   (i, j, classes): distinct combinations that the keys of those classes are taken from, in a join of relations i and j;
 *   the divisor of the join's rows
 * @param repeated
 *   of each class the relations that may have a key more than once
 */
final class JoinKeys(
    val classes: IndexedSeq[Long],
    domain: (Int, Int, Seq[Int]) => Double,
    val repeated: IndexedSeq[Long] = IndexedSeq.empty
) {
  private val domains = mutable.HashMap.empty[(Int, Int, Seq[Int]), Double]

  def of(i: Int, j: Int, classes: Seq[Int]): Double =
    math.max(1.0, domains.getOrElseUpdate((i, j, classes), domain(i, j, classes)))
}

/**
 * Relations and the equalities between them.
 *
 * @param assumed
 *   what is other than expected, if anything is
 */
final class JoinGraph(
    val relations: IndexedSeq[Relation],
    val keys: JoinKeys,
    assumed: Option[JoinGraph.Assumed] = None
) {
  private val classes = keys.classes
  val size: Int = relations.size
  val all: Long = if (size == 64) -1L else (1L << size) - 1
  private val neighbours: IndexedSeq[Long] =
    relations.indices.map(i => classes.filter(c => (c & bit(i)) != 0).foldLeft(0L)(_ | _) & ~bit(i))
  private val bytes: IndexedSeq[Double] = relations.map(_.rowBytes)
  private val expected = new mutable.LongMap[Double]
  private val bounds = new mutable.LongMap[Double]

  /** The same relations if something is other than expected. */
  def assuming(s: Scenario): JoinGraph =
    new JoinGraph(relations, keys, Some(JoinGraph.Assumed(s, this)))

  def bit(i: Int): Long = 1L << i

  /** Whether an equality connects two disjoint sets. */
  def connects(a: Long, b: Long): Boolean = members(a).exists(i => (neighbours(i) & b) != 0)

  def members(set: Long): Iterator[Int] = JoinGraph.members(set)

  /** Sets that no equality connects. */
  lazy val components: Seq[Long] = {
    def grow(set: Long): Long = {
      val next = members(set).map(neighbours).foldLeft(set)(_ | _)
      if (next == set) set else grow(next)
    }
    relations.indices.map(i => grow(bit(i))).distinct
  }

  def rowBytes(set: Long): Double = members(set).map(bytes).sum

  /** Rows that are not exceeded by the join of a set. What is assumed to be other than expected does not change them. */
  def bound(set: Long): Double = assumed.fold(
    bounds.getOrElseUpdate(set, product(set, r => math.max(r.rows, r.bound)))
  )(_.of.bound(set))

  /** Expected rows of the join of a set. They do not depend on the order. */
  def rows(set: Long): Double = expected.getOrElseUpdate(
    set,
    assumed.fold(product(set, _.rows))(a => a.of.rows(set) * a.scenario.factor(set, this))
  )

  private def product(set: Long, own: Relation => Double): Double = {
    // From the largest relation on, which most likely refers to the others.
    var joined = bit(members(set).maxBy(i => relations(i).rows))
    var n = own(relations(java.lang.Long.numberOfTrailingZeros(joined)))
    while (joined != set) {
      val left = set & ~joined
      val i = members(left).find(i => (neighbours(i) & joined) != 0).getOrElse(members(left).next())
      n = n * own(relations(i)) / divisor(joined, i)
      joined |= bit(i)
    }
    n
  }

  /** The divisor of the rows when a relation is joined to a set: each class counts once, by as few relations as can be. */
  private def divisor(set: Long, i: Int): Double = {
    var open = classes.indices.filter(c => (classes(c) & bit(i)) != 0 && (classes(c) & set) != 0)
    var d = 1.0
    while (open.nonEmpty) {
      val (j, shared) = members(set)
        .map(j => j -> open.filter(c => (classes(c) & bit(j)) != 0))
        .maxBy(_._2.size)
      d *= keys.of(j, i, shared)
      open = open.filterNot(shared.contains)
    }
    d
  }

  /** The relation of a set that a key of a join with another set comes from, with the distinct values of that key. */
  def keyOf(probe: Long, build: Long): Option[(Int, Double)] =
    members(probe)
      .filter(i => (neighbours(i) & build) != 0)
      .map(i => i -> divisor(build, i))
      .maxByOption(_._2)
}

object JoinGraph {

  /** Something is other than in another graph of the same relations. */
  final case class Assumed(scenario: Scenario, of: JoinGraph)

  def members(set: Long): Iterator[Int] = Iterator
    .iterate(set)(s => s & (s - 1))
    .takeWhile(_ != 0)
    .map(s => java.lang.Long.numberOfTrailingZeros(s))
}

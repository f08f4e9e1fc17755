package org.apache.spark.sql.springbok.cost

import scala.collection.mutable

import org.apache.spark.sql.springbok.cost.CostConstants._

/** An order of joins: which sets are joined with which. */
sealed trait JoinTree {
  def set: Long

  /** The sets that its joins make. Two trees with the same ones differ in the sides of joins at most. */
  def joined: Seq[Long]
}
object JoinTree {
  final case class Leaf(relation: Int) extends JoinTree {
    override val set: Long = 1L << relation
    override def joined: Seq[Long] = Nil
  }
  final case class Node(left: JoinTree, right: JoinTree) extends JoinTree {
    override val set: Long = left.set | right.set
    override def joined: Seq[Long] = left.joined ++ right.joined :+ set
  }
}

/**
 * What an order of joins costs, in ns of one core: `C_out` of the literature, weighted by what Spark does with the rows.
 * Each join costs what its cheapest strategy and build side cost: the bytes of [[JoinCost]], a lookup for each row of the
 * probe side, and its result's rows.
 *
 * Runtime filters are taken into account: rows of the probe side without a match are removed at its scan if the join
 * shuffles or has other joins below. So they are not part of what the joins below it process. What an order can still save
 * then is what the filters leave.
 *
 * A build side that is a join itself, or that a filter of another join reaches, has to wait for another stage. Stages that
 * depend on each other take longer than stages that run at once.
 *
 * @param broadcastBytes
 *   largest build side of a broadcast, bytes in memory
 * @param waitNs
 *   ns for which all cores wait where a build side waits for another stage
 * @param mostRetained
 *   part of the rows; a filter that is expected to leave more is not made
 */
final class JoinOrderCost(
    graph: JoinGraph,
    cluster: Cluster,
    broadcastBytes: Double,
    waitNs: Double,
    mostRetained: Double
) {

  /** One join: its cost; and the relation whose scan its filter reaches, with the part of the rows that it keeps. */
  private case class Step(cost: Double, probe: Long, filter: Option[(Int, Double)])

  /** Joins of two sets without the filters of joins above. The search asks for the same ones again and again. */
  private val unfiltered = mutable.HashMap.empty[(Long, Long), Step]

  /** The same costs of other relations. */
  def of(other: JoinGraph): JoinOrderCost =
    new JoinOrderCost(other, cluster, broadcastBytes, waitNs, mostRetained)

  /** Cost of a whole order. */
  def apply(tree: JoinTree): Double = total(tree, Map.empty)

  /** Cost of joining two sets, without the joins in them. */
  def join(a: Long, b: Long): Double = alone(a, b).cost

  private def total(tree: JoinTree, retained: Map[Int, Double]): Double = tree match {
    case JoinTree.Leaf(_) => 0
    case JoinTree.Node(l, r) =>
      val s = step(l.set, r.set, retained)
      val below = s.filter.fold(retained) { case (i, k) =>
        retained.updated(i, retained.getOrElse(i, 1.0) * k)
      }
      def of(t: JoinTree) = total(t, if (t.set == s.probe) below else retained)
      s.cost + of(l) + of(r)
  }

  private def rows(set: Long, retained: Map[Int, Double]): Double =
    retained.foldLeft(graph.rows(set)) { case (n, (i, k)) =>
      if ((set & graph.bit(i)) != 0) n * k else n
    }

  /** The planner chooses the build side by cost, without the filters of joins above. */
  private def step(a: Long, b: Long, retained: Map[Int, Double]): Step = {
    val s = alone(a, b)
    if (retained.isEmpty) s else probing(s.probe, (a | b) & ~s.probe, retained)
  }

  private def alone(a: Long, b: Long): Step = unfiltered.getOrElseUpdate(
    (a, b), {
      val (one, other) = (probing(a, b, Map.empty), probing(b, a, Map.empty))
      if (one.cost <= other.cost) one else other
    }
  )

  private def probing(probe: Long, build: Long, retained: Map[Int, Double]): Step = {
    val (p, n) = (rows(probe, retained), rows(build, retained))
    val waits = several(build) || retained.keysIterator.exists(i => (build & graph.bit(i)) != 0)
    val waiting = if (waits) waitNs * cluster.cores else 0.0
    val out = rows(probe | build, retained) * outputNs
    graph.keyOf(probe, build) match {
      // A nested loop.
      case None => Step(out + p * n * nestedLoopPairNs + waiting, probe, None)
      case Some((i, domain)) =>
        val part = math.min(1.0, n / math.max(1.0, domain))
        val filter = Option.when(part < mostRetained && graph.relations(i).filterable)(i -> part)
        def passed(f: Option[(Int, Double)]) = p * f.fold(1.0)(_._2)
        def tests(f: Option[(Int, Double)]) =
          f.fold(0.0)(_ => rows(graph.bit(i), retained) * FilterCost.test(n.toLong))
        def lookups(rows: Double) = rows * FilterCost.lookup(n, integral = true, dense = false)
        // In the stage of the scan a filter would only repeat the lookup.
        val ahead = filter.filter(_ => several(probe))
        val broadcast = JoinCost.sum(JoinCost.broadcast(side(build, n), cluster)) * nsPerByte +
          lookups(passed(ahead)) + tests(ahead) + waiting
        val shuffled =
          JoinCost.sum(JoinCost.partitioned(side(probe, passed(filter)), side(build, n))) * nsPerByte +
            lookups(passed(filter)) + tests(filter) + 2 * stageNs * cluster.cores
        val fits = graph.bound(build) * graph.rowBytes(build) * relationOverhead <= broadcastBytes
        if (fits && broadcast <= shuffled) Step(out + broadcast, probe, ahead)
        else Step(out + shuffled, probe, filter)
    }
  }

  /** A narrow row costs more than its bytes. */
  private def side(set: Long, rows: Double) =
    Side(SideSize(Some(rows), math.max(leastRowBytes, graph.rowBytes(set)), None))

  private def several(set: Long): Boolean = (set & (set - 1)) != 0
}

package org.apache.spark.sql.springbok.rules.reorder

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LeafNode, LogicalPlan, Project}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.RelationName
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterMode, ReorderConf}
import org.apache.spark.sql.springbok.cost.{
  ChoicePolicy,
  Cluster,
  CostConstants,
  JoinGraph,
  JoinKeys,
  JoinOrderCost,
  JoinOrderSearch,
  JoinTree,
  Relation,
  Scenario
}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.DecidedOrder
import org.apache.spark.sql.springbok.stats.estimate.{Estimate, KeyDomain}
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/**
 * An order of joins that was chosen, or why none was.
 *
 * @param chosen
 *   None: the order of the query stays
 */
final private[springbok] case class OrderDecision(chosen: Option[JoinTree], record: DecidedOrder)

private[springbok] object OrderDecision {

  /** The most joins that are compared, some ms. 8 relations that share a key have 3,025, a star of 10 relations has 2,304. */
  private val mostJoins = 3100

  def left(b: JoinBlock, why: Reason): OrderDecision =
    uncosted(b, None, why)

  /** The order that the query's hint asks for, whatever it costs. */
  def asked(b: JoinBlock): OrderDecision =
    uncosted(b, Some(b.asked).filter(_ != b.tree), Reason.askedOrder)

  private def uncosted(b: JoinBlock, chosen: Option[JoinTree], why: Reason): OrderDecision = {
    val (before, after) = (label(b, b.tree), chosen.map(label(b, _)))
    OrderDecision(chosen, DecidedOrder(b.items.size, before, after, None, None, None, why))
  }

  def apply(b: JoinBlock, stats: PlanStats, cluster: Cluster, conf: SQLConf): OrderDecision = {
    val leastMs = conf.getConf(ReorderConf.MIN_GAIN_MS).toDouble
    val limits = OrderLimits(conf.getConf(ReorderConf.MIN_GAIN), leastMs, cluster.cores)
    val forced = ChoicePolicy.of(conf).ignoresCost
    val graph = BlockGraph(b, stats, conf.getConf(FilterConf.MODE) == FilterMode.Global)
    val cost = new JoinOrderCost(
      graph,
      cluster,
      cluster.broadcastLimit(conf),
      waitNs = leastMs * 1e6,
      1 - conf.getConf(FilterConf.MIN_REJECTION)
    )
    lazy val fixedNs = fixed(b, stats, cluster)
    val cheap = if (forced) None else tooCheap(cost(b.tree), fixedNs, limits)
    cheap.map(left(b, _)).getOrElse {
      val best = new JoinOrderSearch(graph, cost, mostJoins).best(b.tree)
      val c = OrderCandidate(b, graph, cost, fixedNs, best, limits)
      decided(c, if (forced) None else OrderGate.against(c))
    }
  }

  /** Why no order is searched: none can save more than the joins cost. */
  private def tooCheap(joinsNs: Double, fixedNs: => Double, limits: OrderLimits): Option[Reason] = {
    val ms = limits.wallMs(joinsNs)
    if (ms < limits.ms) Some(Reason.shortJoins(ms, limits.ms))
    else {
      val share = joinsNs / (fixedNs + joinsNs)
      Option.when(share < limits.share)(Reason.cheapJoins(share, limits.share))
    }
  }

  private def decided(c: OrderCandidate, against: Option[Reason]): OrderDecision = {
    val chosen = Option.when(against.isEmpty)(c.best)
    val (before, after) = (c.beforeNs / 1e6, c.afterNs / 1e6)
    OrderDecision(
      chosen,
      DecidedOrder(
        c.block.items.size,
        label(c.block, c.block.tree),
        chosen.map(label(c.block, _)),
        Option.when(chosen.isEmpty && c.isOther)(label(c.block, c.best)),
        Some(before),
        Some(after),
        against.getOrElse(Reason.lowerCost(after, before))
      )
    )
  }

  /** What every order costs: the scans, and a stage of each. */
  private def fixed(b: JoinBlock, stats: PlanStats, cluster: Cluster): Double =
    b.items.flatMap(ScannedTables(_)).map(stats(_).rows.fold(0.0)(_.value) * CostConstants.scanNs).sum +
      b.items.size * cluster.cores.toDouble * CostConstants.stageNs

  /** `lineitem, (orders, customer)`: what is joined with what. */
  private def label(b: JoinBlock, tree: JoinTree): String = {
    def inner(t: JoinTree): String = t match {
      case JoinTree.Leaf(i) => RelationName(b.items(i))
      case JoinTree.Node(l, r) =>
        s"${inner(l)}, ${if (r.isInstanceOf[JoinTree.Node]) s"(${inner(r)})" else inner(r)}"
    }
    inner(tree)
  }
}

/** What the search for an order knows of a block. */
private[reorder] object BlockGraph {

  /**
   * @param filters
   *   whether runtime filters of one stage reach others
   */
  def apply(b: JoinBlock, stats: PlanStats, filters: Boolean): JoinGraph = {
    val estimates = b.items.map(stats(_))
    val relations = b.items.zip(estimates).map { case (item, e) =>
      relation(item, e, stats).copy(filterable = filters && ScannedTables(item).nonEmpty)
    }
    val sets = b.keys.map(_.keys.foldLeft(0L)((s, i) => s | 1L << i))
    def repeats(i: Int, key: Expression) =
      !KeyDomain.uniqueness(Seq(key), estimates(i)).believed && !KeyDomain.isFixed(key, estimates(i))
    val repeated = b.keys.map(_.foldLeft(0L) { case (s, (i, key)) =>
      if (repeats(i, key)) s | 1L << i else s
    })
    val keys = new JoinKeys(
      sets,
      (i, j, cs) => KeyDomain.of(cs.map(b.keys(_)(i)), cs.map(b.keys(_)(j)), estimates(i), estimates(j)),
      repeated
    )
    new JoinGraph(relations, keys)
  }

  private def relation(item: LogicalPlan, e: Estimate, stats: PlanStats): Relation = {
    val rows = e.rows.get
    val removed = unfiltered(item, stats).map(_ / math.max(1.0, rows.value))
    val (more, less) =
      if (removed.exists(_ < filtered)) (1.0, 1.0)
      else (math.min(Scenario.off, removed.getOrElse(Scenario.off)), Scenario.off)
    Relation(rows.value, rows.bound, e.rowBytes, filterable = false, more, less)
  }

  /** The rows of the only table of an item without its filters, None if the item is more than that. */
  private def unfiltered(item: LogicalPlan, stats: PlanStats): Option[Double] = item match {
    case Filter(_, child) => unfiltered(child, stats)
    case Project(_, child) => unfiltered(child, stats)
    case leaf: LeafNode => stats(leaf).rows.map(_.value)
    case _ => None
  }

  /** A filter that removes less than a tenth of the rows, such as the nulls, makes no estimate uncertain. */
  private val filtered = 1.1
}

/**
 * An order that might replace the query's.
 *
 * @param graph
 *   the relations of the block
 * @param cost
 *   costs of orders of these relations, ns of one core
 * @param fixedNs
 *   ns of one core that every order costs: the scans, and a stage of each
 * @param best
 *   the cheapest order found
 */
final private[reorder] case class OrderCandidate(
    block: JoinBlock,
    graph: JoinGraph,
    cost: JoinOrderCost,
    fixedNs: Double,
    best: JoinTree,
    limits: OrderLimits
) {
  val beforeNs: Double = fixedNs + cost(block.tree)
  val afterNs: Double = fixedNs + cost(best)

  /** Fraction of the expected cost that the order saves. */
  val gain: Double = (beforeNs - afterNs) / beforeNs

  /** Whether it joins other sets than the query. */
  def isOther: Boolean = best.joined.toSet != block.tree.joined.toSet

  /** Fraction of the cost of the query's order that this one costs more with these relations; below 0 if it saves. */
  def loss(other: JoinGraph): Double = {
    val costs = cost.of(other)
    (costs(best) - costs(block.tree)) / (fixedNs + costs(block.tree))
  }
}

/**
 * What an order must save.
 *
 * @param share
 *   fraction of the expected cost
 * @param ms
 *   ms while all cores work
 * @param cores
 *   cores of the cluster
 */
final private[reorder] case class OrderLimits(share: Double, ms: Double, cores: Int) {

  /** Ns of one core as ms while all cores work. */
  def wallMs(ns: Double): Double = ns / 1e6 / math.max(1, cores)
}

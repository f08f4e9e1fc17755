package org.apache.spark.sql.springbok.rules.reorder

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterMode, JoinConf, ReorderConf}
import org.apache.spark.sql.springbok.cost.{ChoicePolicy, Cluster, JoinOrderCost, JoinOrderSearch, JoinTree}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.LoggedOrder
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/**
 * An order of joins that was chosen, or why none was.
 *
 * @param chosen
 *   None: the order of the query stays
 */
final private[springbok] case class OrderDecision(chosen: Option[JoinTree], record: LoggedOrder)

private[springbok] object OrderDecision {

  /** The most joins that are compared, some ms. 8 relations that share a key have 3,025, a star of 10 relations has 2,304. */
  private val mostJoins = 3100

  def left(b: JoinBlock, why: Reason): OrderDecision =
    OrderDecision(None, LoggedOrder(b.items.size, label(b, b.tree), None, None, None, None, why))

  def apply(b: JoinBlock, stats: PlanStats, cluster: Cluster, conf: SQLConf): OrderDecision = {
    val leastMs = conf.getConf(ReorderConf.MIN_GAIN_MS).toDouble
    val limits = OrderLimits(conf.getConf(ReorderConf.MIN_GAIN), leastMs, cluster.cores)
    val forced = ChoicePolicy.of(conf).ignoresCost
    val graph = BlockGraph(b, stats, conf.getConf(FilterConf.MODE) == FilterMode.Global)
    val broadcastBytes = cluster.broadcastLimit(
      JoinConf.broadcastBytes(conf, measured = false),
      conf.getConf(JoinConf.BROADCAST_MEMORY_FRACTION)
    )
    val cost = new JoinOrderCost(graph, cluster, broadcastBytes, waitNs = leastMs * 1e6)
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
      LoggedOrder(
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
    b.items.flatMap(ScannedTables(_)).map(stats(_).rows.fold(0.0)(_.value) * JoinOrderCost.scanNs).sum +
      b.items.size * cluster.cores.toDouble * JoinOrderCost.stageNs / 5

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

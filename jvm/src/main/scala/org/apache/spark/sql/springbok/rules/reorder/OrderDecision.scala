package org.apache.spark.sql.springbok.rules.reorder

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{FileTable, TableName}
import org.apache.spark.sql.springbok.conf.{JoinConf, ReorderConf}
import org.apache.spark.sql.springbok.cost.{
  Cluster,
  JoinGraph,
  JoinOrderCost,
  JoinOrderSearch,
  JoinTree,
  Relation
}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.LoggedOrder
import org.apache.spark.sql.springbok.stats.estimate.KeyDomain
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/**
 * An order of joins that was chosen, or why none was.
 *
 * @param chosen
 *   None: the order of the query stays
 */
final private[springbok] case class OrderDecision(chosen: Option[JoinTree], record: LoggedOrder)

private[springbok] object OrderDecision {

  /** Relations up to which all orders are searched: 3^10 splits at most, some ms. */
  private val exhaustive = 10

  /** Part of the gain that may be lost where no predicate of unknown selectivity removes a row. */
  private val tolerance = 0.5

  def left(b: JoinBlock, why: Reason): OrderDecision =
    OrderDecision(None, LoggedOrder(b.items.size, label(b, b.tree), None, None, None, why))

  def apply(b: JoinBlock, stats: PlanStats, cluster: Cluster, conf: SQLConf): OrderDecision = {
    val graph = this.graph(b, stats)
    val broadcastBytes = cluster.broadcastLimit(
      JoinConf.broadcastBytes(conf, measured = false),
      conf.getConf(JoinConf.BROADCAST_MEMORY_FRACTION)
    )
    val cost = new JoinOrderCost(graph, cluster, broadcastBytes, guessed = true)
    val unguessed = new JoinOrderCost(graph, cluster, broadcastBytes, guessed = false)
    val best = new JoinOrderSearch(graph, cost, exhaustive).best
    val scans = fixed(b, stats, cluster)
    val (before, after) = (scans + cost(b.tree), scans + cost(best))
    val gain = (before - after) / before
    val least = conf.getConf(ReorderConf.MIN_GAIN)
    // What it costs more where no predicate of unknown selectivity removes a row.
    val loss = (unguessed(best) - unguessed(b.tree)) / (scans + unguessed(b.tree))
    val against =
      if (gain <= 0 || gain < least) Some(Reason.smallGain(math.max(0, gain), least))
      else if (loss > gain * tolerance) Some(Reason.guessedGain(gain, loss))
      else None
    val chosen = Option.when(against.isEmpty)(best)
    OrderDecision(
      chosen,
      LoggedOrder(
        b.items.size,
        label(b, b.tree),
        chosen.map(label(b, _)),
        Some(before / 1e6),
        Some(after / 1e6),
        against.getOrElse(Reason.lowerCost(after / 1e6, before / 1e6))
      )
    )
  }

  private def graph(b: JoinBlock, stats: PlanStats): JoinGraph = {
    val estimates = b.items.map(stats(_))
    val relations = b.items.zip(estimates).map { case (item, e) =>
      val rows = e.rows.get
      Relation(rows.value, rows.bound, e.rowBytes, filterable = scans(item).nonEmpty)
    }
    val columns = b.classes.map(c => c.map(a => b.itemOf(a) -> (a: Expression)).toMap)
    val others = b.otherKeys.map { case (l, r) => Map(b.itemOf(l) -> l, b.itemOf(r) -> r) }
    val keys = (columns ++ others).toIndexedSeq
    new JoinGraph(
      relations,
      keys.map(_.keys.foldLeft(0L)((s, i) => s | 1L << i)),
      (i, j, cs) => KeyDomain.of(cs.map(keys(_)(i)), cs.map(keys(_)(j)), estimates(i), estimates(j))
    )
  }

  private def scans(p: LogicalPlan): Seq[LogicalRelation] = p.collect { case FileTable(r, _) =>
    r
  }

  /** What every order costs: the scans, and a stage of each. */
  private def fixed(b: JoinBlock, stats: PlanStats, cluster: Cluster): Double =
    b.items.flatMap(scans).map(r => stats(r).rows.fold(0.0)(_.value) * JoinOrderCost.scanNs).sum +
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

/** What a relation of a join is called: by the tables in it. */
private[springbok] object RelationName {
  def apply(p: LogicalPlan): String = {
    val tables = p.collect { case FileTable(r, fs) =>
      TableName(r.catalogTable.map(_.identifier), fs)
    }
    if (tables.isEmpty) p.nodeName else tables.map(_.getOrElse("?")).mkString("+")
  }
}

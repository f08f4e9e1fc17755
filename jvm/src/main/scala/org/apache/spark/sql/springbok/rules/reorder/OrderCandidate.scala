package org.apache.spark.sql.springbok.rules.reorder

import org.apache.spark.sql.springbok.cost.{JoinGraph, JoinOrderCost, JoinTree}

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

package org.apache.spark.sql.springbok.cost

import org.apache.spark.sql.springbok.cost.CostConstants._

/**
 * What an aggregate of each task's rows costs, and what it saves in the operators above it; ns of one core.
 *
 * @param rows
 *   expected rows that it takes
 * @param retained
 *   expected fraction of them that it leaves
 * @param keys
 *   what it groups by
 * @param aboveNs
 *   what the operators above it cost if all rows come to them
 */
final case class LocalAggregateCost(rows: Double, retained: Double, keys: GroupKeys, aboveNs: Double) {
  val spentNs: Double = rows * (keys.perRowNs(rows * retained) + retained * outputNs)
  val savedNs: Double = aboveNs * (1 - retained)
}

object LocalAggregateCost {

  /** What a join costs its probe side, which may have to be sent for it. */
  def join(in: Double, out: Double, build: Double, shuffled: Boolean): Double =
    in * (FilterCost.lookup(build, integral = true, dense = false) + (if (shuffled) shuffleNs else 0)) +
      out * outputNs

  /** What rows cost as the build side of a join. */
  def build(rows: Double, shuffled: Boolean): Double =
    rows * (probeNs + (if (shuffled) shuffleNs else collectNs))

  /** The fraction of a task's rows that is left if its keys have so many combinations of values. */
  def retained(taskRows: Double, combinations: Double): Double =
    math.min(1.0, math.max(1.0, combinations) / math.max(1.0, taskRows))
}

/**
 * Keys of groups.
 *
 * @param fixed,
 *   varying columns of fixed and of variable length
 */
final case class GroupKeys(fixed: Int, varying: Int) {

  /** Finding a row's group and updating it, where there are that many groups. */
  def perRowNs(groups: Double): Double = {
    val bytes = groups * (fixed + 4 * varying + 4) * 8
    aggregateNs + varying * aggregateTextNs + (if (bytes > cacheBytes) aggregateMissNs else 0)
  }
}

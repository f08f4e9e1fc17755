package org.apache.spark.sql.springbok.cost

import org.apache.spark.sql.catalyst.optimizer.BuildSide
import org.apache.spark.sql.springbok.catalyst.{JoinSide, Sides}
import org.apache.spark.sql.springbok.conf.JoinMode

/**
 * Everything that the choice of a join's strategy depends on.
 *
 * @param orderedOutput
 *   bytes that the parent would have to sort by the keys after a hash join, 0 if it needs no such order
 * @param pairs
 *   pairs of rows with equal keys, None if unknown or if one row of a key suffices
 */
final case class JoinInput(
    sides: Sides[Side],
    capabilities: Capabilities,
    cluster: Cluster,
    limits: MemoryLimits,
    defaultMode: JoinMode,
    orderedOutput: Double = 0,
    pairs: Option[Double] = None,
    wishes: Wishes = Wishes()
) {
  def left: Side = sides.left
  def right: Side = sides.right

  /** The side that looks its rows up if the other one is built. */
  def probe(build: BuildSide): Side = sides(JoinSide.of(build).other)

  /**
   * Bytes that the hash table of one partition takes at most if a shuffled hash join builds the side, None if its size is
   * unknown. Adaptive execution decides again when an exchange has counted the rows; what is never counted must be bounded.
   */
  def hashTable(build: BuildSide): Option[Double] = {
    val side = sides(build)
    (if (side.layout.counted) side.size.boundBytes else side.size.mostBytes)
      .map(b => side.size.tableAtMost(largestPartition(build, b), limits.page))
  }

  /** Bytes of the largest partition of a build side of so many bytes. */
  def largestPartition(build: BuildSide, bytes: Double): Double =
    JoinCost.largestPartition(
      bytes,
      sides(build),
      probe(build),
      cluster.shufflePartitions,
      limits.advisoryBytes
    )

  /** What is done if costs are unknown or equal. */
  def mode: JoinMode = if (wishes.shuffle) JoinMode.Partitioned else defaultMode
}

/**
 * What the user asks for.
 *
 * @param shuffle
 *   that neither side is broadcast, by a hint of the query
 * @param merge
 *   that no hash table is built where the sides can be merged, by a setting of the session
 */
final case class Wishes(shuffle: Boolean = false, merge: Boolean = false)

/**
 * What the type and the keys of a join allow.
 *
 * @param equi
 *   whether the sides are compared by equality of keys, so that hashing or sorting finds the pairs
 * @param broadcast
 *   whether every task may hold that side
 * @param hash
 *   whether a shuffled hash join may build that side
 * @param preserved
 *   whether rows of that side without a match are part of the result, as in an outer join
 * @param mergeable
 *   whether the keys can be sorted and the type can be merged
 * @param cartesian
 *   whether every pair of rows may be formed, as in an inner join
 */
final case class Capabilities(
    equi: Boolean,
    broadcast: Sides[Boolean],
    hash: Sides[Boolean],
    preserved: Sides[Boolean],
    mergeable: Boolean,
    cartesian: Boolean
)

object Capabilities {

  /** Those of a join without equality. */
  def nonEqui(broadcast: Sides[Boolean], cartesian: Boolean): Capabilities = {
    val none = Sides(false, false)
    Capabilities(equi = false, broadcast, hash = none, preserved = none, mergeable = false, cartesian)
  }
}

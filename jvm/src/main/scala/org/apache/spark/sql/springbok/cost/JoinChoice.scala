package org.apache.spark.sql.springbok.cost

import scala.util.Random

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.springbok.report.Reason

/** What executes a join. */
sealed abstract class Strategy(val name: String)
object Strategy {
  final case class Broadcast(build: BuildSide) extends Strategy("broadcast hash")
  final case class ShuffledHash(build: BuildSide) extends Strategy("shuffled hash")
  case object SortMerge extends Strategy("sort-merge")

  /** Left as Spark plans it. */
  case object Spark extends Strategy("as Spark plans it")

  def build(s: Strategy): Option[BuildSide] = s match {
    case Broadcast(b) => Some(b)
    case ShuffledHash(b) => Some(b)
    case _ => None
  }
}

/** One way to execute a join, with its cost in bytes or why it is ruled out. */
final case class Alternative(strategy: Strategy, cost: Double, ruledOut: Option[Reason])

/** What was chosen, of what, and why. */
final case class JoinChoice(chosen: Strategy, reason: Reason, alternatives: Seq[Alternative])

/**
 * Everything that the choice depends on.
 *
 * @param preservesLeft
 *   whether rows of the left side without a match are part of the result, as in a left outer join
 */
final case class JoinInput(
    left: JoinCost.Side,
    right: JoinCost.Side,
    broadcastLeft: Boolean,
    broadcastRight: Boolean,
    hashLeft: Boolean,
    hashRight: Boolean,
    preservesLeft: Boolean,
    preservesRight: Boolean,
    mergeable: Boolean,
    cluster: Cluster,
    limits: JoinLimits,
    defaultMode: String
)

/**
 * Bounds of the choice.
 *
 * @param broadcastBytes
 *   largest build side of a broadcast, bytes in memory
 * @param broadcastFraction
 *   largest part of driver's and executor's heap for it
 * @param hashBytes
 *   largest hash table of one partition, bytes
 * @param advisoryBytes
 *   adaptive execution's advisory partition size, compressed bytes
 */
final case class JoinLimits(
    broadcastBytes: Long,
    broadcastFraction: Double,
    hashBytes: Double,
    advisoryBytes: Long
)

/**
 * Impala's decision (`DistributedPlanner`), guarded: join types first, then costs; ties and unknown costs go to the
 * default mode, but nothing is broadcast whose size is not known to be within the limits.
 */
object JoinChoice {
  import JoinCost._
  import Strategy._

  def apply(in: JoinInput): JoinChoice = decide(in, alternatives(in))

  /** For tests: one of the strategies that the join's type and keys allow, whatever it costs. */
  def forced(in: JoinInput, seed: Int): JoinChoice = {
    val all = alternatives(in)
    val legal = all.filter(_.ruledOut.forall(!Reason.impossible(_))).map(_.strategy) :+ Spark
    JoinChoice(legal(new Random(seed).nextInt(legal.size)), Reason.forced, all)
  }

  private def alternatives(in: JoinInput): Seq[Alternative] = {
    val broadcasts = Seq(BuildLeft -> in.broadcastLeft, BuildRight -> in.broadcastRight).map {
      case (side, allowed) =>
        val cost = JoinCost.broadcast(build(in, side), in.cluster.executors, in.cluster.coresPerExecutor)
        val why =
          if (!allowed) Some(Reason.joinType("broadcast", side)) else overBroadcastLimit(build(in, side), in)
        Alternative(Broadcast(side), cost, why)
    }
    val hashes = Seq(BuildLeft -> in.hashLeft, BuildRight -> in.hashRight).map { case (side, allowed) =>
      val cost = partitioned(build(in, other(side)), build(in, side))
      val why =
        if (!allowed) Some(Reason.joinType("shuffled hash", side))
        else if (preserved(in, side)) Some(Reason.tracksMatches(side))
        else overHashLimit(build(in, side), build(in, other(side)), in)
      Alternative(ShuffledHash(side), cost, why)
    }
    val merge =
      Alternative(SortMerge, sortMerge(in.left, in.right), Option.when(!in.mergeable)(Reason.notSortable))
    broadcasts ++ hashes :+ merge
  }

  private def decide(in: JoinInput, all: Seq[Alternative]): JoinChoice = {
    val open = all.filter(a => a.ruledOut.isEmpty && a.cost >= 0).sortBy(_.cost)
    val costsKnown = in.left.bytes >= 0 && in.right.bytes >= 0
    open match {
      case best +: rest if costsKnown =>
        rest.headOption.filter(_.cost == best.cost) match {
          case Some(_) => byDefault(in, all, Reason.tie(best.cost))
          case None => JoinChoice(best.strategy, Reason.cheapest(best, rest.headOption), all)
        }
      case _ => byDefault(in, all, Reason.statsUnknown(in.left, in.right))
    }
  }

  private def byDefault(in: JoinInput, all: Seq[Alternative], reason: Reason): JoinChoice = {
    val wanted: Strategy => Boolean = in.defaultMode match {
      case "BROADCAST" => _.isInstanceOf[Broadcast]
      case "PARTITIONED" => s => s.isInstanceOf[ShuffledHash] || s == SortMerge
      case _ => _ => false
    }
    val size = (a: Alternative) =>
      Strategy.build(a.strategy).flatMap(b => build(in, b).boundBytes).getOrElse(Double.MaxValue)
    val fitting = all.filter(a => wanted(a.strategy) && a.ruledOut.isEmpty).sortBy(size)
    JoinChoice(fitting.headOption.fold[Strategy](Spark)(_.strategy), reason, all)
  }

  private def overBroadcastLimit(side: Side, in: JoinInput): Option[Reason] = {
    val heap = math.min(in.cluster.driverHeap, in.cluster.executorHeap)
    val limit = math.min(in.limits.broadcastBytes.toDouble, heap * in.limits.broadcastFraction)
    side.boundBytes match {
      case None => Some(Reason.sizeUnknown)
      // Impala's margin: the hash table is a tenth larger than its rows.
      case Some(b) if b * 1.1 > limit => Some(Reason.tooBig(b, limit))
      case _ => None
    }
  }

  private def overHashLimit(side: Side, probe: Side, in: JoinInput): Option[Reason] =
    hashTableBytes(side, probe, in.cluster.shufflePartitions, in.limits.advisoryBytes) match {
      case None => Some(Reason.sizeUnknown)
      case Some(table) =>
        Option.when(table > in.limits.hashBytes)(Reason.hashTableTooBig(table, in.limits.hashBytes))
    }

  /**
   * Built from the preserved side, the hash table has to be searched for rows without a match in the end: Spark then takes
   * its general table instead of the one for long keys, marks each match, and the rows lose the order that sorting would
   * have given them. TPC-H q13 measured 0.75x to 1.0x of a sort-merge join.
   */
  private def preserved(in: JoinInput, side: BuildSide): Boolean =
    if (side == BuildLeft) in.preservesLeft else in.preservesRight

  private def build(in: JoinInput, side: BuildSide): Side = if (side == BuildLeft) in.left else in.right

  private def other(side: BuildSide): BuildSide = if (side == BuildLeft) BuildRight else BuildLeft
}

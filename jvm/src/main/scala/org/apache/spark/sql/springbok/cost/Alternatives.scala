package org.apache.spark.sql.springbok.cost

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.springbok.cost.CostConstants._
import org.apache.spark.sql.springbok.cost.JoinCost._
import org.apache.spark.sql.springbok.cost.RuledOut.{Impossible, Unwise}
import org.apache.spark.sql.springbok.cost.Strategy._
import org.apache.spark.sql.springbok.reason.Reason

/** Every strategy for a join, with its cost and with the reason if it is ruled out. */
private[cost] object Alternatives {

  def of(in: JoinInput): Seq[Alternative] =
    buildSides.map(broadcast(in, _)) ++ buildSides.map(hash(in, _)) ++ Seq(merge(in)) ++
      buildSides.map(nestedLoop(in, _)) :+ cartesian(in)

  private val buildSides = Seq(BuildLeft, BuildRight)

  private def broadcast(in: JoinInput, side: BuildSide): Alternative = {
    val build = in.sides(side)
    val terms = shared(build, sent(in, side) :+ stage(in)) :+ chained(in, side, build.size.table)
    Alternative(Broadcast(side), terms, notEqui(in).orElse(cannotBroadcast(in, side, "broadcast")))
  }

  private def hash(in: JoinInput, side: BuildSide): Alternative = {
    val (build, probe) = (in.sides(side), in.probe(side))
    val can = in.capabilities
    val why =
      if (!can.equi) notEqui(in)
      else if (!can.hash(side)) Some(Impossible(Reason.joinType("shuffled hash", side)))
      else if (in.wishes.merge && can.mergeable) Some(Unwise(Reason.mergePreferred))
      else if (tracksMatches(in, side)) Some(Unwise(Reason.tracksMatches(side)))
      else BuildSideLimit.hashTable(side, in).map(Unwise(_))
    val table = in.largestPartition(side, build.bytes) * build.size.tableShare * hashTableOverhead
    val terms = partitioned(probe.after(build), build.after(probe)) ++ exchanges(in) ++ Seq(
      "sorting the output" -> in.orderedOutput * sortShare,
      chained(in, side, table)
    )
    Alternative(ShuffledHash(side), terms, why)
  }

  private def merge(in: JoinInput): Alternative = {
    val why =
      notEqui(in).orElse(Option.when(!in.capabilities.mergeable)(Impossible(Reason.notSortable)))
    Alternative(SortMerge, sortMerge(in.left.after(in.right), in.right.after(in.left)) ++ exchanges(in), why)
  }

  private def nestedLoop(in: JoinInput, side: BuildSide): Alternative = {
    val compared = "pairs of rows" -> pairs(in.left, in.right, nestedLoopPairNs)
    Alternative(
      NestedLoop(side),
      sent(in, side) :+ compared :+ stage(in),
      everyPair(in).orElse(cannotBroadcast(in, side, "broadcast nested loop"))
    )
  }

  private def cartesian(in: JoinInput): Alternative = {
    val why =
      everyPair(in).orElse(Option.when(!in.capabilities.cartesian)(Impossible(Reason.notInner)))
    val terms = Seq(
      "network" -> cartesianReads(in.left, in.right, in.cluster),
      "pairs of rows" -> pairs(in.left, in.right, cartesianPairNs),
      "tasks" -> cartesianTasks(in.left, in.right, in.cluster)
    )
    Alternative(Cartesian, terms, why)
  }

  private def notEqui(in: JoinInput): Option[RuledOut] =
    Option.when(!in.capabilities.equi)(Impossible(Reason.notEqui))

  private def everyPair(in: JoinInput): Option[RuledOut] =
    Option.when(in.capabilities.equi)(Impossible(Reason.everyPair(in.left.rows, in.right.rows)))

  private def cannotBroadcast(in: JoinInput, side: BuildSide, strategy: String): Option[RuledOut] =
    if (!in.capabilities.broadcast(side)) Some(Impossible(Reason.joinType(strategy, side)))
    else if (in.wishes.shuffle) Some(Impossible(Reason.shuffleHint))
    else BuildSideLimit.broadcast(in.sides(side), in).map(Unwise(_))

  /**
   * A hash table of the preserved side has to be searched for rows without a match in the end. Spark then takes its general
   * table instead of the one for long keys and marks each match, and the rows lose the order that sorting would have given
   * them. TPC-H q13 measured 0.75x to 1.0x of a sort-merge join.
   */
  private def tracksMatches(in: JoinInput, side: BuildSide): Boolean = in.capabilities.preserved(side)

  private def sent(in: JoinInput, build: BuildSide): Terms =
    JoinCost.broadcast(in.sides(build), in.cluster, in.probe(build).layout.tasks)

  /** This join's part of the cost of a broadcast that serves several joins. */
  private def shared(build: Side, terms: Terms): Terms =
    terms.map { case (name, cost) => name -> (if (cost < 0) cost else cost / build.broadcast.sharedBy) }

  /** What a partitioned join takes beside its bytes. */
  private def exchanges(in: JoinInput): Terms = Seq(
    "stages" -> stages(in.sides.toSeq.count(!_.layout.partitioned), in.cluster),
    "idle cores" -> idleCores(in.left, in.right, in.cluster)
  )

  private def chained(in: JoinInput, build: BuildSide, table: Double): (String, Double) =
    "rows of a key" -> chains(in.probe(build), in.pairs, table)

  private def stage(in: JoinInput): (String, Double) = "stages" -> stages(1, in.cluster)
}

package org.apache.spark.sql.springbok.cost

import scala.util.Random

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.springbok.reason.Reason

/**
 * Everything that the choice depends on.
 *
 * @param equi
 *   whether the sides are compared by equality of keys, so that hashing or sorting finds the pairs
 * @param cartesian
 *   whether every pair of rows may be formed: inner joins
 * @param broadcastLeft,
 *   broadcastRight whether the join's type (and for equality its keys) allow that side to be held by every task
 * @param preservesLeft,
 *   preservesRight whether rows of that side without a match are part of the result, as in an outer join
 * @param mergeable
 *   whether the keys can be sorted and the type merged
 * @param orderedOutput
 *   bytes that the parent would have to sort by the keys after a hash join, 0 if it needs no such order
 * @param pairs
 *   pairs of rows with equal keys, None if unknown or if one of a key suffices
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
    defaultMode: String,
    equi: Boolean = true,
    cartesian: Boolean = true,
    orderedOutput: Double = 0,
    pairs: Option[Double] = None
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
 * @param measuredBytes
 *   largest build side of a broadcast where that side has run, bytes in memory
 * @param held
 *   bytes in memory of the broadcasts of the query's other joins, Spark's own among them
 * @param stored
 *   bytes of the driver's heap that Spark's blocks hold: relations of earlier queries until they are collected, and what
 *   a local session caches
 * @param sparkBroadcastBytes
 *   bytes that Spark itself refuses to collect or broadcast
 * @param sparkBroadcastRows
 *   rows of which Spark refuses to build a broadcast relation
 */
final case class JoinLimits(
    broadcastBytes: Long,
    broadcastFraction: Double,
    hashBytes: Double,
    advisoryBytes: Long,
    measuredBytes: Long = Long.MaxValue,
    held: Double = 0,
    stored: Long = 0,
    sparkBroadcastBytes: Long = JoinLimits.maxBroadcastBytes,
    sparkBroadcastRows: Double = JoinLimits.maxBroadcastRows
)

object JoinLimits {

  /** Spark's default of `spark.sql.maxBroadcastTableSize`. */
  val maxBroadcastBytes: Long = 8L << 30

  /** Of relations of a single long Spark allows 512 million rows, of all others so many. */
  val maxBroadcastRows: Double = (1 << 29) / 1.5
}

/** What was chosen, of what, and why. */
final case class JoinChoice(
    chosen: Strategy,
    reason: Reason,
    alternatives: Seq[Alternative],
    distribution: Option[Distribution] = None
)

/**
 * Impala's decision (`DistributedPlanner`), guarded: join types first, then costs; ties and unknown costs go to the
 * default mode, but nothing is broadcast whose size is not known to be within the limits.
 */
object JoinChoice {
  import JoinCost._
  import Strategy._

  /** Left to Spark. */
  def spark(reason: Reason): JoinChoice = JoinChoice(Spark, reason, Nil)

  def apply(in: JoinInput): JoinChoice = distributed(in, decide(in, alternatives(in)))

  /** For tests: one of the strategies that the join's type and keys allow, whatever it costs. */
  def forced(in: JoinInput, seed: Int): JoinChoice = {
    val all = alternatives(in)
    val legal = all.filter(_.ruledOut.forall(!Reason.impossible(_))).map(_.strategy) :+ Spark
    distributed(in, JoinChoice(legal(new Random(seed).nextInt(legal.size)), Reason.forced, all))
  }

  private def distributed(in: JoinInput, c: JoinChoice): JoinChoice =
    c.copy(distribution = Distribution.of(c.chosen, in.left, in.right))

  private def alternatives(in: JoinInput): Seq[Alternative] =
    sides.map(broadcast(in, _)) ++ sides.map(hash(in, _)) ++ Seq(merge(in)) ++
      sides.map(nestedLoop(in, _)) :+ cartesian(in)

  private val sides = Seq(BuildLeft, BuildRight)

  private def broadcast(in: JoinInput, side: BuildSide): Alternative = {
    val why =
      if (!in.equi) Some(Reason.notEqui)
      else if (!allowed(in, side)) Some(Reason.joinType("broadcast", side))
      else overBroadcastLimit(build(in, side), in)
    val table = build(in, side).table
    Alternative(
      Broadcast(side),
      shared(in, side)(sent(in, side) :+ stage(in)) :+ chained(in, side, table),
      why
    )
  }

  private def hash(in: JoinInput, side: BuildSide): Alternative = {
    val (b, p) = (build(in, side), build(in, other(side)))
    val why =
      if (!in.equi) Some(Reason.notEqui)
      else if (!(if (side == BuildLeft) in.hashLeft else in.hashRight))
        Some(Reason.joinType("shuffled hash", side))
      else if (preserved(in, side)) Some(Reason.tracksMatches(side))
      else overHashLimit(b, p, in)
    val table = hashTableBytes(b.bytes, b, p, in.cluster.shufflePartitions, in.limits.advisoryBytes)
    val terms = partitioned(p.after(b), b.after(p)) ++ exchanges(in) ++ Seq(
      "sorting the output" -> in.orderedOutput * sortShare,
      chained(in, side, table)
    )
    Alternative(ShuffledHash(side), terms, why)
  }

  private def merge(in: JoinInput): Alternative = {
    val why =
      if (!in.equi) Some(Reason.notEqui) else Option.when(!in.mergeable)(Reason.notSortable)
    Alternative(SortMerge, sortMerge(in.left.after(in.right), in.right.after(in.left)) ++ exchanges(in), why)
  }

  private def nestedLoop(in: JoinInput, side: BuildSide): Alternative = {
    val why =
      if (in.equi) Some(Reason.everyPair(in.left.rows, in.right.rows))
      else if (!allowed(in, side)) Some(Reason.joinType("broadcast nested loop", side))
      else overBroadcastLimit(build(in, side), in)
    val compared = "pairs of rows" -> pairs(in.left, in.right, nestedLoopPair)
    Alternative(NestedLoop(side), sent(in, side) :+ compared :+ stage(in), why)
  }

  private def cartesian(in: JoinInput): Alternative = {
    val why =
      if (in.equi) Some(Reason.everyPair(in.left.rows, in.right.rows))
      else Option.when(!in.cartesian)(Reason.notInner)
    val terms = Seq(
      "network" -> cartesianReads(in.left, in.right, in.cluster),
      "pairs of rows" -> pairs(in.left, in.right, cartesianPair)
    )
    Alternative(Cartesian, terms, why)
  }

  private def sent(in: JoinInput, side: BuildSide): Terms =
    JoinCost.broadcast(build(in, side), in.cluster)

  /** This join's part of the cost of a broadcast that serves several. */
  private def shared(in: JoinInput, side: BuildSide)(terms: Terms): Terms = {
    val joins = build(in, side).sharedBy
    terms.map { case (name, cost) => name -> (if (cost < 0) cost else cost / joins) }
  }

  /** What a partitioned join takes beside its bytes. */
  private def exchanges(in: JoinInput): Terms = Seq(
    "stages" -> stages(Seq(in.left, in.right).count(!_.partitioned), in.cluster),
    "idle cores" -> idleCores(in.left, in.right, in.cluster)
  )

  private def chained(in: JoinInput, side: BuildSide, table: Double): (String, Double) =
    "rows of a key" -> chains(build(in, other(side)), in.pairs, table)

  private def stage(in: JoinInput): (String, Double) = "stages" -> stages(1, in.cluster)

  private def allowed(in: JoinInput, side: BuildSide): Boolean =
    if (side == BuildLeft) in.broadcastLeft else in.broadcastRight

  private def decide(in: JoinInput, all: Seq[Alternative]): JoinChoice = {
    // Of two sides that cost the same the right one is built.
    val open = all.reverse.filter(a => a.ruledOut.isEmpty && a.cost >= 0).sortBy(_.cost)
    val costsKnown = in.left.bytes >= 0 && in.right.bytes >= 0
    open match {
      case best +: rest if costsKnown =>
        val kind = (a: Alternative) => Distribution.of(a.strategy, in.left, in.right)
        if (rest.exists(a => a.cost == best.cost && kind(a) != kind(best)))
          byDefault(in, all, Reason.tie(best.cost))
        else
          JoinChoice(
            best.strategy,
            Reason.cheapest(best, rest.headOption)(a =>
              s"${Strategy.label(a.strategy)}${kind(a).fold("")(d => s" (${d.name})")}"
            ),
            all
          )
      case _ if costsKnown => JoinChoice(Spark, Reason.allRuledOut, all)
      case _ => byDefault(in, all, Reason.statsUnknown(in.left, in.right))
    }
  }

  private def byDefault(in: JoinInput, all: Seq[Alternative], reason: Reason): JoinChoice = {
    val wanted: Strategy => Boolean = in.defaultMode match {
      case "BROADCAST" => s => s.isInstanceOf[Broadcast] || s.isInstanceOf[NestedLoop]
      case "PARTITIONED" => s => s.isInstanceOf[ShuffledHash] || s == SortMerge
      case _ => _ => false
    }
    val size = (a: Alternative) =>
      Strategy.build(a.strategy).flatMap(b => build(in, b).boundTable).getOrElse(Double.MaxValue)
    val fitting = all.filter(a => wanted(a.strategy) && a.ruledOut.isEmpty).sortBy(size)
    JoinChoice(fitting.headOption.fold[Strategy](Spark)(_.strategy), reason, all)
  }

  /**
   * The driver collects the rows and builds the relation, every executor holds it: what of either heap may be used, what
   * Spark itself refuses, and the setting, whichever is least. Where values are spread otherwise than evenly more may come:
   * that may be unwise, but must not end the query.
   */
  private def overBroadcastLimit(side: Side, in: JoinInput): Option[Reason] = {
    val bytes = if (side.sent) in.limits.measuredBytes else in.limits.broadcastBytes
    val spark = in.limits.sparkBroadcastBytes.toDouble
    val limit = math.min(in.cluster.broadcastLimit(bytes, in.limits.broadcastFraction), spark)
    val all =
      math.min(in.cluster.smallerHeap * surely, (in.cluster.driverHeap - in.limits.stored) * ofTheRest)
    val room = all / hashTableOverhead - in.limits.held
    val most = math.min(math.max(room, smallBytes), spark)
    side.boundTable match {
      case None => Some(Reason.sizeUnknown)
      case Some(b) if b * relationOverhead > limit => Some(Reason.tooBig(b * relationOverhead, limit))
      case _ =>
        def mayBeTooBig =
          side.mostTable.filter(_ > most).map(Reason.mayBeTooBig(_, most))
        def tooManyRows = side.boundRows
          .filter(_ > in.limits.sparkBroadcastRows)
          .map(Reason.tooManyRows(_, in.limits.sparkBroadcastRows))
        // What Spark itself would broadcast takes what it would without Springbok; rows that are no hash table take no page.
        val asksRoom = in.equi && !side.sparks && in.limits.held > 0
        def noRoom = Option.when(asksRoom && in.cluster.leastRelation > room)(
          Reason.noRoom(in.limits.held * hashTableOverhead, all)
        )
        Option.when(side.slow)(Reason.timeOut).orElse(noRoom).orElse(mayBeTooBig).orElse(tooManyRows)
    }
  }

  /** What Spark broadcasts by default, whatever else there is. */
  private val smallBytes = 10.0 * (1 << 20)

  /**
   * Part of either heap that a query's broadcasts may take if the rows of this one are as many as can be. While they are
   * made the driver also holds what it has collected and what it sends: of half of a heap of 3 GB, which TPC-DS q64's took,
   * it ran out of memory.
   */
  private val surely = 1.0 / 3

  /**
   * Part of what Spark's blocks leave of the driver's heap that they may take: the relations of queries that have ended
   * stay until a garbage collection finds them, which in a heap that is nearly full comes too late.
   */
  private val ofTheRest = 1.0 / 2

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

  private[springbok] def build(in: JoinInput, side: BuildSide): Side =
    if (side == BuildLeft) in.left else in.right
}

package org.apache.spark.sql.springbok.cost

import org.apache.spark.sql.catalyst.optimizer.BuildSide
import org.apache.spark.sql.springbok.cost.CostConstants.{hashTableOverhead, relationOverhead}
import org.apache.spark.sql.springbok.reason.Reason

/** Which build sides are too large to be held in memory. */
private[cost] object BuildSideLimit {

  /**
   * Why the side may not be broadcast. The driver collects the rows and builds the relation, and every executor holds it.
   * The limit is the least of what either heap allows, what Spark itself refuses, and the setting. More rows than expected
   * may come where values are not spread evenly: that may be slow, but must not end the query.
   */
  def broadcast(side: Side, in: JoinInput): Option[Reason] = {
    val limits = in.limits.broadcast
    val bytes = if (side.layout.sent) limits.measuredBytes else limits.bytes
    val heap = in.cluster.heapLimit(limits.heapFraction)
    val least = Seq(bytes.toDouble, heap, limits.sparkBytes.toDouble).min
    // The reason names what has to change.
    val tooBig =
      if (least == bytes) Reason.tooBig
      else if (least == heap) Reason.tooBigForHeap
      else Reason.tooBigForSpark
    side.size.boundTable match {
      case None => Some(Reason.sizeUnknown)
      case Some(b) if b * relationOverhead > least => Some(tooBig(b * relationOverhead, least))
      // Spark's own broadcast would have the same time.
      case _ if side.broadcast.slow && !side.broadcast.bySpark => Some(Reason.timeOut)
      case _ =>
        noRoom(side, in).orElse(mayBeTooBig(side, in)).orElse(tooManyRows(side, limits))
    }
  }

  /** Bytes in memory that the broadcasts of all queries together may take. */
  private def all(in: JoinInput): Double = math.min(
    in.cluster.smallerHeap * heapFraction,
    (in.cluster.driverHeap - in.limits.broadcast.stored) * freeFraction
  )

  /** Bytes of rows that the other broadcasts leave. Other queries take nothing from what Spark itself would broadcast. */
  private def room(side: Side, in: JoinInput): Double = {
    val elsewhere = if (side.broadcast.bySpark) 0.0 else in.limits.broadcast.heldElsewhere
    all(in) / hashTableOverhead - in.limits.broadcast.held - elsewhere
  }

  /**
   * Where other broadcasts have taken the room. What Spark itself would broadcast takes what it would take without
   * Springbok, and rows that are not put into a hash table take no page.
   */
  private def noRoom(side: Side, in: JoinInput): Option[Reason] = {
    val held = in.limits.broadcast.held + in.limits.broadcast.heldElsewhere
    val needsRoom = in.capabilities.equi && !side.broadcast.bySpark && held > 0
    Option.when(needsRoom && in.cluster.leastRelation > room(side, in))(
      Reason.noRoom(held * hashTableOverhead, all(in))
    )
  }

  /** Where nothing bounds the bytes, Spark's own threshold decides, until a stage has counted them. */
  private def mayBeTooBig(side: Side, in: JoinInput): Option[Reason] = {
    val most = math.min(math.max(room(side, in), sparkDefaultBytes), in.limits.broadcast.sparkBytes.toDouble)
    side.size.mostTable.fold(Option.when(!side.broadcast.bySpark)(Reason.lengthUnknown))(b =>
      Option.when(b > most)(Reason.mayBeTooBig(b, most))
    )
  }

  private def tooManyRows(side: Side, limits: BroadcastLimits): Option[Reason] =
    side.size.boundRows.filter(_ > limits.sparkRows).map(Reason.tooManyRows(_, limits.sparkRows))

  /**
   * Why a shuffled hash join may not build the side. A task keeps the tables of all joins of its stage until it ends, and none of
   * them can be spilled.
   */
  def hashTable(build: BuildSide, in: JoinInput): Option[Reason] = {
    val limit = in.limits.hashBytes
    val held = in.sides.toSeq.map(_.layout.heldTables).sum
    in.hashTable(build) match {
      case None => Some(Reason.sizeUnknown)
      case Some(table) => Option.when(table + held > limit)(Reason.hashTableTooBig(table, held, limit))
    }
  }

  /** Spark's default of `spark.sql.autoBroadcastJoinThreshold`. */
  private val sparkDefaultBytes = 10.0 * (1 << 20)

  /**
   * Fraction of either heap that a query's broadcasts may take if the rows of this one are as many as possible. While
   * relations are made the driver also holds what it has collected and what it sends. With half of the heap TPC-DS q64 ran
   * out of memory in 3 GB.
   */
  private val heapFraction = 1.0 / 3

  /**
   * Fraction of what Spark's blocks leave of the driver's heap that they may take. The relations of queries that have
   * ended stay until a garbage collection finds them, which comes too late in a heap that is nearly full.
   */
  private val freeFraction = 1.0 / 2
}

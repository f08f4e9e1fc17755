package org.apache.spark.sql.springbok.cost

/**
 * The memory that joins may use.
 *
 * @param hashBytes
 *   bytes of the hash tables of one task
 * @param advisoryBytes
 *   adaptive execution's advisory partition size, compressed bytes
 * @param page
 *   bytes that Spark's memory manager allocates at a time
 */
final case class MemoryLimits(
    broadcast: BroadcastLimits,
    hashBytes: Double,
    advisoryBytes: Long,
    page: Double = MemoryLimits.leastPage
)

object MemoryLimits {

  /** The smallest page that Spark chooses, and the largest one. */
  val leastPage: Double = 1.0 * (1 << 20)
  val mostPage: Double = 64 * leastPage
}

/**
 * Limits of a broadcast.
 *
 * @param bytes
 *   largest build side, bytes in memory
 * @param measuredBytes
 *   largest build side that has run already, bytes in memory
 * @param heapFraction
 *   largest fraction of the driver's and of an executor's heap for it
 * @param held
 *   bytes in memory of the broadcasts of the query's other joins, Spark's own among them
 * @param heldElsewhere
 *   bytes in memory of the broadcasts of other queries that run
 * @param stored
 *   bytes of the driver's heap that Spark's blocks hold: relations of earlier queries until they are collected, and what
 *   a local session caches
 * @param sparkBytes
 *   bytes above which Spark itself refuses to collect or broadcast
 * @param sparkRows
 *   rows above which Spark refuses to build a broadcast relation
 */
final case class BroadcastLimits(
    bytes: Long,
    heapFraction: Double,
    measuredBytes: Long = Long.MaxValue,
    held: Double = 0,
    heldElsewhere: Double = 0,
    stored: Long = 0,
    sparkBytes: Long = BroadcastLimits.sparkDefaultBytes,
    sparkRows: Double = BroadcastLimits.sparkDefaultRows
) {

  /** Bytes above which nothing is broadcast. */
  def largest: Long = math.max(bytes, measuredBytes)
}

object BroadcastLimits {

  /** Spark's default of `spark.sql.maxBroadcastTableSize`. */
  val sparkDefaultBytes: Long = 8L << 30

  /** Spark allows 512 million rows in a relation of a single long key, and so many in all others. */
  val sparkDefaultRows: Double = (1 << 29) / 1.5
}

package org.apache.spark.sql.springbok.conf

import org.apache.spark.internal.config.ConfigEntry
import org.apache.spark.sql.internal.SQLConf

/** The choice of join strategies. */
object JoinConf extends ConfArea {

  val ENABLED: ConfigEntry[Boolean] = flag("join.enabled", default = true)(
    "Whether Springbok's cost model chooses the strategy of joins (broadcast hash, shuffled hash, sort-merge)."
  )

  val DEFAULT_MODE: ConfigEntry[JoinMode] = mode("join.defaultMode", JoinMode.Spark, JoinMode)(
    "What is done with a join if its costs are unknown or equal: SPARK leaves it to Spark's own rules, BROADCAST and " +
      "PARTITIONED take that distribution. A side is broadcast only if its size is known to be within the limits."
  )

  val BROADCAST_BYTES_LIMIT: ConfigEntry[Long] =
    bytes(
      "join.broadcastBytesLimit",
      256L << 20,
      _ >= 0,
      "The limit must be a number of bytes, -1 or unlimited.",
      words = Map("-1" -> 0L, "unlimited" -> Long.MaxValue)
    )(
      "Largest build side, in bytes in memory, that Springbok broadcasts, whatever the costs say. If 0 or -1, nothing is " +
        "broadcast, as with spark.sql.autoBroadcastJoinThreshold. If unlimited, only memory limits a broadcast, through " +
        "spark.springbok.join.broadcastMemoryFraction and Spark's own limits. If this is not set, a larger spark.sql.autoBroadcastJoinThreshold replaces it; if that threshold is " +
        "0 or -1, only materialized stages are broadcast, up to spark.sql.adaptive.autoBroadcastJoinThreshold (nothing if " +
        "that is not set). For finished stages, spark.sql.adaptive.autoBroadcastJoinThreshold replaces that threshold " +
        "where it is set, and 0 or -1 forbids to broadcast them."
    )

  val BROADCAST_MEMORY_FRACTION: ConfigEntry[Double] = share("join.broadcastMemoryFraction", 0.1)(
    "Largest fraction of the driver's heap, and of one executor's heap, that the relation of one broadcast may take. A relation takes about twice the bytes of its rows."
  )

  val SHUFFLED_HASH_MEMORY_FRACTION: ConfigEntry[Double] = share("join.shuffledHashMemoryFraction", 0.3)(
    "Largest fraction of a task's share of execution memory that the hash tables of its shuffled hash joins may take, at " +
      "their largest. A join above this limit is a sort-merge join, which can spill."
  )

  private def share(key: String, default: Double)(doc: String): ConfigEntry[Double] =
    fraction(key, default, v => v > 0 && v <= 1, "The fraction must be above 0 and at most 1.")(doc)

  /**
   * Largest build side, in bytes, that may be broadcast without a hint. Spark's thresholds of -1 and 0 switch
   * automatic broadcasts off, so these are respected; so is a larger threshold than ours.
   *
   * @param measured
   *   whether the side has run: adaptive execution has a threshold of its own for measured sizes
   */
  def broadcastBytes(conf: SQLConf, measured: Boolean): Long = {
    val limit = conf.getConf(BROADCAST_BYTES_LIMIT)
    val later = conf.getConf(SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD).filter(_ => measured)
    val spark = later.getOrElse(conf.autoBroadcastJoinThreshold)
    if (conf.contains(BROADCAST_BYTES_LIMIT.key)) limit
    else if (spark <= 0) 0
    else if (conf.autoBroadcastJoinThreshold <= 0) spark
    else math.max(limit, spark)
  }
}

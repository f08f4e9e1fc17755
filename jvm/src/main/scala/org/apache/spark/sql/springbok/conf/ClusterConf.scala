package org.apache.spark.sql.springbok.conf

import org.apache.spark.internal.config.ConfigEntry

/** The cluster that the cost model assumes. */
object ClusterConf extends ConfArea {

  val EXECUTORS: ConfigEntry[Int] =
    number("cluster.executors", 0, _ >= 0, "The number must be 0 or more.")(
      "Number of executors that the cost model assumes. If 0, it is read from the running cluster."
    )

  val CORES: ConfigEntry[Int] =
    number("cluster.coresPerExecutor", 0, _ >= 0, "The number must be 0 or more.")(
      "Cores of one executor that the cost model assumes. If 0, they are read from the running cluster."
    )

  val EXECUTOR_MEMORY: ConfigEntry[Long] =
    bytes(
      "cluster.executorMemory",
      0L,
      // Spark's own setting takes a number without a unit for MiB.
      v => v == 0 || v >= (1L << 20),
      "The size must be 0 or at least 1m, with a unit such as 8g."
    )(
      "Heap of one executor, in bytes, that the cost model assumes. If 0, it is read from the running cluster."
    )
}

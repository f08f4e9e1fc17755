package org.apache.spark.sql.springbok.conf

import org.apache.spark.internal.config.ConfigEntry

/** Statistics that are read from files while a query is planned. */
object StatsConf extends ConfArea {

  val FOOTERS_ENABLED: ConfigEntry[Boolean] = expert(
    flag("stats.footers.enabled", default = true)(
      "Whether row counts and column ranges are read from the footers of Parquet and ORC files. For analyzed tables they " +
        "serve to check the catalog's row count."
    )
  )

  val DICTIONARIES_ENABLED: ConfigEntry[Boolean] = expert(
    flag("stats.dictionaries.enabled", default = true)(
      "Whether planning reads dictionaries and sampled rows of at most two Parquet files per table. They give the " +
        "selectivity of predicates on string columns and of comparisons on numeric ones, and the number of distinct values " +
        "of integral columns with a wide range. Needs stats.footers.enabled too."
    )
  )

  val FOOTERS_MAX_FILES: ConfigEntry[Int] =
    number("stats.footers.maxFiles", 16, _ > 0, "At least one file must be read.")(
      "Largest number of footers that are read for one table. The other files are estimated from these by their bytes. " +
        "Fewer are read of files with many columns and row groups."
    )

  val FOOTERS_MAX_MS: ConfigEntry[Long] =
    expert(
      time("stats.footers.maxMs", 1000L, _ > 0, "The time must be above 0 ms.")(
        "Time in ms after which no further footer of a table is opened. The footers read so far are used for the next minute."
      )
    )

  val FOOTERS_MAX_PARTITIONS: ConfigEntry[Int] =
    expert(
      number("stats.footers.maxPartitions", 5000, _ >= 0, "The number of partitions must not be negative.")(
        "Largest number of partitions of a catalog table whose files are listed while the query is planned. Spark lists " +
          "them when the scan starts, and uses the same cache of listings. If 0, no partitions are listed, and such tables " +
          "need ANALYZE."
      )
    )
}

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

package org.apache.spark.sql.springbok.conf

import org.apache.spark.internal.config.{ConfigEntry, OptionalConfigEntry}
import org.apache.spark.sql.internal.SQLConf

/** What finished queries teach later ones. */
object HistoryConf extends ConfArea {

  val ENABLED: ConfigEntry[Boolean] = flag("history.enabled", default = false)(
    "Whether the rows that finished queries counted are used to plan later queries of the application. They never change an " +
      "answer, and never the bounds that decide what may be held in memory."
  )

  val MAX_ENTRIES: ConfigEntry[Int] =
    number(
      "history.maxEntries",
      10000,
      v => v >= 1 && v <= 1000000,
      "The number must be between 1 and 1000000."
    )(
      "Largest number of parts of queries whose rows an application remembers. The ones that were not used for the longest " +
        "time are forgotten first."
    )

  val PATH: OptionalConfigEntry[String] = path("history.path")(
    "Folder in any file system of Hadoop in which applications share what they have learned. Without it, an application " +
      "learns for itself. It is read, with history.maxBytes, when the first " +
      "query with history.enabled is planned. Later changes have no effect."
  )

  val MAX_BYTES: ConfigEntry[Long] =
    bytes("history.maxBytes", 64L << 20, _ >= 1024, "The size must be at least 1024 bytes.")(
      "Bytes of all files in history.path that are read and kept. The ones that were learned earliest are left out first."
    )

  val KEYS: ConfigEntry[Boolean] = flag("history.keys.enabled", default = true)(
    "With history.enabled: whether the keys of small build sides are kept in memory. A later query of the application filters " +
      "by them without waiting for its build side, if that reads the same table of Parquet, ORC or Delta under the same " +
      "conditions and settings, and no file has changed."
  )

  val KEYS_MAX_BYTES: ConfigEntry[Long] =
    bytes("history.keys.maxBytes", 8L << 20, _ >= 0, "The size must be 0 or more bytes.")(
      "Most bytes of the keys that an application keeps. The ones that were not used for the longest time are forgotten first."
    )

  /** Whether keys of build sides are kept and used. */
  def keepsKeys(conf: SQLConf): Boolean = conf.getConf(ENABLED) && conf.getConf(KEYS)

  val REDACT: ConfigEntry[Boolean] = flag("history.redact", default = false)(
    "Whether the files in history.path name neither tables nor conditions. What identifies a part of a query is a hash in any case."
  )
}

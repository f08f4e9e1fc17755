package org.apache.spark.sql.springbok.conf

import org.apache.spark.internal.config.{ConfigEntry, OptionalConfigEntry}

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

  val REDACT: ConfigEntry[Boolean] = flag("history.redact", default = false)(
    "Whether the files in history.path name neither tables nor conditions. What identifies a part of a query is a hash in any case."
  )
}

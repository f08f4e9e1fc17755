package org.apache.spark.sql.springbok.conf

import org.apache.spark.internal.config.ConfigEntry

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
}

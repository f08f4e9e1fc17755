package org.apache.spark.sql.springbok.conf

import org.apache.spark.internal.config.ConfigEntry

/** Shuffles. */
object ExchangeConf extends ConfArea {

  val CHOOSE_WRITER: ConfigEntry[Boolean] = flag("exchange.chooseWriter", default = true)(
    "Whether a shuffle of few rows gets one partition more than spark.shuffle.sort.bypassMergeThreshold. Each task then " +
      "sorts its rows into one file instead of writing one file per partition."
  )
}

package org.apache.spark.sql.springbok.conf

import org.apache.spark.internal.config.ConfigEntry

/** The order of inner joins. */
object ReorderConf extends ConfArea {

  val ENABLED: ConfigEntry[Boolean] = flag("reorder.enabled", default = false)(
    "Whether inner joins are put into the order with the lowest expected cost. Off by default: over TPC-DS, the gains " +
      "of some queries and the losses of others were about equal."
  )

  val MIN_GAIN: ConfigEntry[Double] =
    fraction("reorder.minGain", 0.25, v => v >= 0 && v < 1, "The part must be at least 0 and below 1.")(
      "Fraction of the expected cost, scans included, that another join order must save."
    )
}

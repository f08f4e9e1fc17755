package org.apache.spark.sql.springbok.conf

import org.apache.spark.internal.config.ConfigEntry

/** The order of inner joins. */
object ReorderConf extends ConfArea {

  val ENABLED: ConfigEntry[Boolean] = flag("reorder.enabled", default = true)(
    "Whether inner joins are reordered where the new order should save much and would not lose if estimates are off."
  )

  val MIN_GAIN: ConfigEntry[Double] =
    fraction("reorder.minGain", 0.25, v => v >= 0 && v < 1, "The part must be at least 0 and below 1.")(
      "Fraction of the expected cost, scans included, that another join order must save."
    )

  val MIN_GAIN_MS: ConfigEntry[Long] =
    time("reorder.minGainMs", 50, _ >= 0, "The time must be 0 or more.")(
      "Expected ms that another join order must save while all cores work. A build side that waits for another stage is " +
        "charged with the same time."
    )
}

package org.apache.spark.sql.springbok.conf

import org.apache.spark.internal.config.ConfigEntry

/** How long planning may take. */
object PlanningConf extends ConfArea {

  val BUDGET: ConfigEntry[Double] =
    fraction("planning.budget", 0.25, (f: Double) => f >= 0 && f <= 1, "must be between 0 and 1")(
      "Springbok plans a query only if its rules are expected to take at most this fraction of the time for reading and " +
        "joining the query's data. Otherwise Spark plans it, and the report says so. If 0, Springbok plans every query."
    )
}

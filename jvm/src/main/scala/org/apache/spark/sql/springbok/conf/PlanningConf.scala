package org.apache.spark.sql.springbok.conf

import org.apache.spark.internal.config.ConfigEntry

/** How long planning may take. */
object PlanningConf extends ConfArea {

  val BUDGET: ConfigEntry[Double] =
    fraction("planning.budget", 0.25, (f: Double) => f >= 0 && f <= 1, "must be between 0 and 1")(
      "The largest fraction of the time that reading and joining a query's data takes that Springbok's rules may take. A " +
        "query with less data is left to Spark, and the report says so. If 0, every query is planned."
    )

  val SINGLE_NODE: ConfigEntry[Boolean] = flag("planning.singleNode", default = false)(
    "Whether one task computes a query that reads little data and returns few rows, without shuffles and broadcasts."
  )
}

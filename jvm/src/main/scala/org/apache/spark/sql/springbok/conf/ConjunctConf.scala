package org.apache.spark.sql.springbok.conf

import org.apache.spark.internal.config.ConfigEntry

/** The order of conjuncts. */
object ConjunctConf extends ConfArea {

  val ENABLED: ConfigEntry[Boolean] = flag("conjunct.enabled", default = true)(
    "Whether the conjuncts of filters and join conditions are evaluated in the order with the lowest expected cost."
  )
}

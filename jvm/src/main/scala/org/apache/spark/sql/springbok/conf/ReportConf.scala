package org.apache.spark.sql.springbok.conf

import org.apache.spark.internal.config.ConfigEntry

/** Reports of queries. */
object ReportConf extends ConfArea {

  val HISTORY: ConfigEntry[Int] =
    number("report.history", 20, v => v >= 0 && v <= 1000, "The number must be between 0 and 1000.")(
      "Number of reports of finished queries that a session keeps, as text, for springbok.last_reports. If 0, none is kept."
    )
}

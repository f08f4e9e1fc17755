package org.apache.spark.sql.springbok.conf

import org.apache.spark.internal.config.ConfigEntry

/** Reports of queries. */
object ReportConf extends ConfArea {

  val HISTORY: ConfigEntry[Int] =
    number("report.history", 20, v => v >= 0 && v <= 1000, "The number must be between 0 and 1000.")(
      "Number of reports of finished queries that a session keeps, as text, for springbok.last_reports. If 0, none is kept."
    )

  val EVENTS: ConfigEntry[Boolean] =
    flag("report.events", true)(
      "Whether reports of finished queries are sent to Spark's listeners. The tab of the Spark UI, the event log and the History Server show no reports if this is false."
    )

  val LITERALS: ConfigEntry[Boolean] =
    flag("report.literals", true)(
      "Whether reports and EXPLAIN's section show the literals of a query. If false, a question mark stands for each, and the SQL text is left out."
    )

  val MAX_BYTES: ConfigEntry[Long] =
    bytes("report.maxBytes", 1L << 20, _ >= 1024, "The size must be at least 1024 bytes.")(
      "Size of a report that is sent to Spark's listeners. A larger one is sent without alternatives and operators; if it is still larger, it is not sent."
    )

  val UI_RETAINED: ConfigEntry[Int] =
    number("report.ui.retained", 200, v => v >= 1 && v <= 10000, "The number must be between 1 and 10000.")(
      "Number of reports in the tab of the Spark UI, and of the History Server. It is read when the application starts."
    )
}

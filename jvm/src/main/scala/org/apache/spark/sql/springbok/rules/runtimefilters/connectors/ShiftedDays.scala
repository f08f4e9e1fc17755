package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.DateType

/**
 * Days that an executor's reader takes for neighbouring days. The driver sends a day as the time of its midnight, and the
 * reader makes a day of that time in its own JVM's time zone, which may be another one. Zones from UTC-12 to UTC+14 shift a
 * day by -2 to +1. So ranges are widened by these days, and no list is sent.
 */
private[runtimefilters] object ShiftedDays {

  /** Whether a scan's reader may shift the days of a column. */
  def in(scan: FileSourceScanExec, column: Attribute, conf: SQLConf): Boolean =
    column.dataType == DateType && !conf.datetimeJava8ApiEnabled && !scan.relation.sparkSession.sparkContext.isLocal

  /** The first day to ask for, so that this day is found. */
  def first(day: Any): Long = day.asInstanceOf[Number].longValue - 1

  /** The last one. */
  def last(day: Any): Long = day.asInstanceOf[Number].longValue + 2
}

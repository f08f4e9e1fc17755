package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.connector.read.{Scan, SupportsReportStatistics}

/** The rows that a connector says a scan has. */
object ScanRows {
  def apply(scan: Scan): Option[Long] = scan match {
    case s: SupportsReportStatistics =>
      val rows = s.estimateStatistics.numRows
      if (rows.isPresent) Some(rows.getAsLong) else None
    case _ => None
  }
}

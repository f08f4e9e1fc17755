package org.apache.spark.sql.springbok.report.ui

import org.apache.spark.sql.springbok.report.page.ReportSummary
import org.apache.spark.status.KVUtils.KVIndexParam

/**
 * A query of the tab, as Spark's status store keeps it.
 *
 * @param summary
 *   None if the report cannot be read
 */
final private[springbok] class StoredReport(
    @KVIndexParam val executionId: Long,
    val report: String,
    val which: String,
    val startMs: Long,
    val durationMs: Long,
    val summary: Option[ReportSummary]
)

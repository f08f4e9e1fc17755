package org.apache.spark.sql.springbok.report.page

import org.apache.spark.sql.springbok.report.Words
import org.apache.spark.sql.springbok.report.model.QueryReport

/**
 * A report in a few numbers, for lists of queries.
 *
 * @param joinsChanged
 *   joins that Springbok decided and that the plan has
 * @param rowsRemoved
 *   rows that filters removed one by one, after the scan
 * @param warnings
 *   tables without statistics, hints that were not followed, and rules that failed
 */
final private[springbok] case class ReportSummary(
    joins: Int,
    joinsChanged: Int,
    filters: Int,
    filtersUsed: Int,
    rowsRemoved: Long,
    warnings: Int
)

private[springbok] object ReportSummary {
  def apply(r: QueryReport): ReportSummary = ReportSummary(
    joins = r.joins.size,
    joinsChanged =
      r.joins.count(j => j.strategy.isDefined && !j.plannedBySpark && Words.sparkAlone(j).isDefined),
    filters = r.filters.count(_.id.isDefined),
    filtersUsed = r.filters.count(_.status == "used"),
    rowsRemoved = r.filters.flatMap(_.rowsRemoved).sum,
    warnings = r.tables.flatMap(t => t.name.filter(_ => Words.missing(t).isDefined)).distinct.size +
      r.joins.count(_.hintHonoured.contains(false)) + r.failures.size
  )

  /** In one sentence. */
  def of(r: QueryReport): String = {
    val s = apply(r)
    val saved = r.saved.flatMap(Words.saved).fold("")(t => s" Saved, by estimate: $t.")
    s"${s.joinsChanged} of ${s.joins} joins are not as Spark would plan them. ${s.filtersUsed} of ${s.filters} runtime filters were used.$saved"
  }
}

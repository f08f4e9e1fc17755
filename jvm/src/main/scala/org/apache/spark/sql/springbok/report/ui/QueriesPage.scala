package org.apache.spark.sql.springbok.report.ui

import scala.jdk.CollectionConverters._
import scala.xml.Node

import org.apache.spark.sql.springbok.report.Words
import org.apache.spark.ui.{UIUtils, WebUIPage}

/** The queries of an application that have a report, the newest first. */
final private[ui] class QueriesPage(tab: SpringbokTab) extends WebUIPage("") {
  private val columns = Seq(
    "Query",
    "Description",
    "Submitted",
    "Duration",
    "Joins changed",
    "Filters used",
    "Rows removed",
    "Warnings"
  )

  override def render(request: Request): Seq[Node] = {
    val reports = tab.store.view(classOf[StoredReport]).reverse().asScala.toList
    val content =
      if (reports.isEmpty) <p>No query with a join has finished yet.</p>
      else
        UIUtils.listingTable[StoredReport](
          columns,
          row(request)(_),
          reports,
          fixedWidth = false,
          id = Some("springbok-queries"),
          headerClasses = columns.map(_ => "")
        )
    UIUtils.headerSparkPage(request, "Springbok", content, tab)
  }

  private def row(request: Request)(r: StoredReport): Seq[Node] = {
    val link =
      s"${UIUtils.prependBaseUri(request, tab.basePath)}/${SpringbokTab.path}/query/?id=${r.executionId}"
    val numbers = r.summary.fold(Seq("", "", "", "cannot be read")) { s =>
      Seq(
        s"${s.joinsChanged} of ${s.joins}",
        s"${s.filtersUsed} of ${s.filters}",
        Words.amount(s.rowsRemoved.toDouble),
        if (s.warnings == 0) "" else s.warnings.toString
      )
    }
    <tr><td><a href={link}>{r.executionId}</a></td><td><a href={link}>{
      if (r.which.isEmpty) "query" else r.which
    }</a></td>
      <td>{if (r.startMs > 0) UIUtils.formatDate(r.startMs) else ""}</td>
      <td sorttable_customkey={r.durationMs.toString}>{UIUtils.formatDuration(r.durationMs)}</td>
      {numbers.map(n => <td>{n}</td>)}</tr>
  }
}

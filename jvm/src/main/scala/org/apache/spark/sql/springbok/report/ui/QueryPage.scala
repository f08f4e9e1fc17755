package org.apache.spark.sql.springbok.report.ui

import scala.util.Try
import scala.xml.Node

import org.apache.spark.sql.springbok.report.ReportJson
import org.apache.spark.sql.springbok.report.model.QueryReport
import org.apache.spark.sql.springbok.report.page.ReportPage
import org.apache.spark.ui.{UIUtils, WebUIPage}

/** The report of one query, `?id=` its number in the SQL tab. */
final private[ui] class QueryPage(tab: SpringbokTab) extends WebUIPage("query") {

  override def render(request: Request): Seq[Node] = {
    val asked = Option(request.getParameter("id")).flatMap(t => Try(t.toLong).toOption)
    val content = asked.flatMap(id => Try(tab.store.read(classOf[StoredReport], id)).toOption) match {
      case None => <p>There is no report of this query.</p>
      case Some(stored) =>
        Try(ReportJson.read(stored.report)).toOption match {
          case Some(r) if r.version == QueryReport.formatVersion =>
            links(request, stored.executionId) ++ ReportPage.report(r)
          case _ => <p>The report of this query is damaged, or of another version of Springbok.</p>
        }
    }
    UIUtils.headerSparkPage(request, asked.fold("Springbok")(id => s"Springbok: query $id"), content, tab)
  }

  private def links(request: Request, id: Long): Seq[Node] = {
    val base = UIUtils.prependBaseUri(request, tab.basePath)
    <p><a href={s"$base/${SpringbokTab.path}/"}>All queries</a>{" "}<a href={s"$base/SQL/execution/?id=$id"}>{
      s"Query $id in the SQL tab"
    }</a></p>
  }
}

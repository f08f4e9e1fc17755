package org.apache.spark.sql.springbok.report.ui

import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.xml.{Elem, Node}

import org.apache.spark.SparkConf
import org.apache.spark.scheduler.SparkListener
import org.apache.spark.sql.springbok.conf.ReportConf
import org.apache.spark.sql.springbok.report.{ReportJson, Words}
import org.apache.spark.sql.springbok.report.model.QueryReport
import org.apache.spark.sql.springbok.report.page.{ReportPage, ReportSummary}
import org.apache.spark.status.ElementTrackingStore
import org.apache.spark.ui.{SparkUI, SparkUITab, UIUtils, WebUIPage}
import org.apache.spark.util.kvstore.KVStore

/** The tab "Springbok" of Spark's UI and of the History Server: a list of queries, and a page for each. */
final private[springbok] class SpringbokTab(val store: KVStore, parent: SparkUI)
    extends SparkUITab(parent, SpringbokTab.path) {
  override val name: String = "Springbok"

  attachPage(new QueriesPage(this))
  attachPage(new QueryPage(this))
  parent.attachTab(this)
}

private[springbok] object SpringbokTab {
  val path = "springbok"
}

/** The tab of an application that has ended. */
private[springbok] object HistoryTab {
  def listeners(conf: SparkConf, store: ElementTrackingStore): List[SparkListener] =
    List(new ReportListener(store, conf.get(ReportConf.UI_RETAINED)))

  /** Adds the tab if the application's log had reports. */
  def addTo(ui: SparkUI): Unit =
    if (ui.store.store.count(classOf[StoredReport]) > 0) new SpringbokTab(ui.store.store, ui): Unit
}

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
    "Saved by filters",
    "Warnings"
  )

  override def render(request: Request): Seq[Node] = {
    val reports = tab.store.view(classOf[StoredReport]).reverse().asScala.toList
    val content: Seq[Node] =
      if (reports.isEmpty) <p>No query with a join has finished yet.</p>
      else
        totals(reports) ++ UIUtils.listingTable[StoredReport](
          columns,
          row(request)(_),
          reports,
          fixedWidth = false,
          id = Some("springbok-queries"),
          headerClasses = columns.map(_ => "")
        )
    UIUtils.headerSparkPage(request, "Springbok", content, tab)
  }

  /** Sums over all reports. */
  private def totals(reports: Seq[StoredReport]): Seq[Node] =
    reports.flatMap(_.summary).reduceOption(_ + _).toSeq.map { s =>
      <p>{
        s"All ${reports.size} queries, ${UIUtils.formatDuration(reports.map(_.durationMs).sum)}: " +
          s"${s.joinsChanged} of ${s.joins} joins changed, ${s.filtersUsed} of ${s.filters} filters used, " +
          s"${Words.amount(s.rowsRemoved.toDouble)} rows removed, ${UIUtils.formatDuration(s.savedCoreMs)} of one core saved by filters, by estimate."
      }</p>
    }

  private def row(request: Request)(r: StoredReport): Seq[Node] = {
    val link =
      s"${UIUtils.prependBaseUri(request, tab.basePath)}/${SpringbokTab.path}/query/?id=${r.executionId}"
    <tr><td><a href={link}>{r.executionId}</a></td><td><a href={link}>{
      if (r.which.isEmpty) "query" else r.which
    }</a></td>
      <td>{if (r.startMs > 0) UIUtils.formatDate(r.startMs) else ""}</td>
      {cell(UIUtils.formatDuration(r.durationMs), r.durationMs)}
      {r.summary.fold(Seq(<td colspan="4"></td>, <td>cannot be read</td>))(numbers)}</tr>
  }

  /** Numbers are sorted as numbers. */
  private def numbers(s: ReportSummary): Seq[Elem] = Seq(
    cell(s"${s.joinsChanged} of ${s.joins}", s.joinsChanged.toLong),
    cell(s"${s.filtersUsed} of ${s.filters}", s.filtersUsed.toLong),
    cell(Words.amount(s.rowsRemoved.toDouble), s.rowsRemoved),
    cell(if (s.savedCoreMs == 0) "" else UIUtils.formatDuration(s.savedCoreMs), s.savedCoreMs),
    cell(if (s.warnings == 0) "" else s.warnings.toString, s.warnings.toLong)
  )

  private def cell(text: String, number: Long): Elem =
    <td sorttable_customkey={number.toString}>{text}</td>
}

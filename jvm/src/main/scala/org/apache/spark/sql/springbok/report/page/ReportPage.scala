package org.apache.spark.sql.springbok.report.page

import java.nio.charset.StandardCharsets.UTF_8

import scala.io.{Codec, Source}
import scala.xml.{Elem, NodeSeq, Unparsed, Xhtml}

import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.report.{ReportJson, Words}
import org.apache.spark.sql.springbok.report.model._

/**
 * A report as HTML: self-contained, escaped, without scripts, light and dark. The plan comes first, then a card for each join
 * and each runtime filter.
 */
private[springbok] object ReportPage {

  /**
   * Of a report in JSON.
   *
   * @param whole
   *   whether it is a page, or a part of one
   */
  def html(json: String, whole: Boolean): String = {
    val r = ReportJson.read(json)
    if (whole) page(r) else fragment(r)
  }

  /** The page of a saved report, without a session: JSON from standard input, HTML to standard output, both in UTF-8. */
  def main(args: Array[String]): Unit = {
    val json = Source.fromInputStream(System.in)(Codec.UTF8).mkString
    System.out.write(html(json, whole = true).getBytes(UTF_8))
    System.out.flush()
  }

  /** A whole page. */
  def page(r: QueryReport): String =
    "<!doctype html>\n" + Xhtml.toXhtml(
      <html lang="en"><head><meta charset="utf-8"/><meta name="viewport" content="width=device-width"/>
        <title>Springbok strategy report</title><style>{Unparsed(PageStyle.page)}</style></head>
        <body>{report(r)}</body></html>
    ) + "\n"

  /** The report alone, to stand in another page. */
  def fragment(r: QueryReport): String = Xhtml.toXhtml(report(r))

  def report(r: QueryReport): Elem =
    <div class="springbok"><style>{Unparsed(PageStyle.text)}</style>{head(r)}{plan(r)}{joins(r)}{filters(r)}{
      Html.section("Join order", order(r))
    }{Html.section("Eager aggregation", aggregation(r))}{
      Html.section("Conjuncts put into another order", conjuncts(r))
    }{
      Html.section("Tables", tables(r))
    }{Html.section("Statistics to collect", statements(r))}{
      Html.folded("Aggregates", aggregates(r))
    }{
      Html.folded("Output columns and where they come from", output(r))
    }{
      Html.folded("Query", identity(r))
    }{Html.folded("Settings that differ from the default", settings(r))}</div>

  private def head(r: QueryReport): NodeSeq = {
    val warnings = r.note.toSeq ++ Words.warnings(r)
    val failures = r.failures.map(f => s"${Words.failure(f)}.")
    <h2>Springbok {r.springbok} on Spark {r.spark} {
      Html.chip(if (r.state == "executed") "good" else "", Words.state(r))
    }</h2> ++
      Some(Words.which(r))
        .filter(_.nonEmpty)
        .toSeq
        .map(t => <p><code>{if (t.length <= 300) t else t.take(299) + "…"}</code></p>) ++
      <p>{ReportSummary.of(r)}</p> ++ r.sink.toSeq.map(s => <p>Writes: {Words.sink(s)}.</p>) ++ Words
        .memory(r.resources)
        .toSeq
        .map(m => <p>{m.capitalize}.</p>) ++
      warnings.map(w => <p>{w}</p>) ++ failures.map(f => <p>{Html.chip("bad", "failed")} {f}</p>)
  }

  private def plan(r: QueryReport): NodeSeq = {
    val svg = new PlanPicture(r).svg
    if (svg.isEmpty) svg
    else
      Html.section(
        "Plan",
        <div class="scroll" tabindex="0" role="region" aria-label="The query's plan">{svg}</div>
      )
  }

  private def joins(r: QueryReport): NodeSeq = {
    val rows = r.joins.flatMap(j =>
      Seq(j.left, j.right).flatMap(s => s.estimatedRows ++ s.rows ++ s.observedRows.map(_.toDouble))
    )
    val most =
      (rows ++ r.joins.flatMap(j => j.estimatedRows ++ j.outputRows.map(_.toDouble))).foldLeft(1.0)(math.max)
    cards("Joins", r.joins.map(JoinCard(_, most)))
  }

  private def filters(r: QueryReport): NodeSeq = cards("Runtime filters", r.filters.map(FilterCard(_)))

  private def cards(title: String, cards: Seq[Elem]): NodeSeq =
    if (cards.isEmpty) NodeSeq.Empty else Html.section(title, <div class="cards">{cards}</div>)

  private def order(r: QueryReport): NodeSeq = r.joinOrder.flatMap { o =>
    val best = o.best.map(b => <br/> ++ Html.soft(s"The best order found: $b"))
    <p>{o.after.fold(o.before)(a => s"$a instead of ${o.before}")} {Html.soft(Words.reason(o.reason))}{
      best.getOrElse(NodeSeq.Empty)
    }</p>
  }

  private def aggregation(r: QueryReport): NodeSeq =
    r.eagerAggregation.flatMap(a => <p>{Words.aggregation(a)} {Html.soft(Words.reason(a.reason))}</p>)

  private def conjuncts(r: QueryReport): NodeSeq = Html.table(
    Seq("operator", "in this order", "cost"),
    r.conjuncts.filter(_.changed).map { c =>
      val each = c.order.map(e => <li><code>{e.condition}</code> {Html.soft(Words.conjunct(e))}</li>)
      Seq(text(c.operator), <ul>{each}</ul>, text(Words.cost(c)))
    }
  )

  private def tables(r: QueryReport): NodeSeq = Html.table(
    Seq("table", "format", "bytes", "rows", "read", "columns"),
    r.tables.map { t =>
      val rows = s"${Words.amount(t.rows)} (${t.rowsSource})"
      Seq(
        text(t.name.getOrElse("?")),
        text(t.format),
        text(Reason.bytes(t.bytes.toDouble)),
        if (t.rows.isDefined) text(rows) else Html.chip("bad", "no statistics"),
        text(Words.read(t)),
        <code>{t.slots.map(_.column).mkString(", ")}</code> ++
          Html.folded("conditions", Words.scanned(t).map(c => <div><code>{c}</code></div>))
      )
    }
  )

  private def aggregates(r: QueryReport): NodeSeq = Html.table(
    Seq("fragment", "aggregates"),
    for (f <- r.fragments; n <- f.nodes; a <- n.aggregate)
      yield Seq[NodeSeq](text(f.id.toString), <code>{Words.aggregate(a)}</code>)
  )

  private def output(r: QueryReport): NodeSeq = {
    val columns = Html.table(
      Seq("column", "type", "computed from"),
      r.output.map(o =>
        Seq[NodeSeq](<code>{o.column}</code>, text(o.`type`), <code>{o.sources.mkString(", ")}</code>)
      )
    )
    val rows = r.predicateSources
    if (rows.isEmpty) columns else columns ++ <p>Rows are decided by <code>{rows.mkString(", ")}</code></p>
  }

  private def statements(r: QueryReport): NodeSeq = {
    val all = Words.statements(r)
    if (all.isEmpty) NodeSeq.Empty else <ul>{all.map(s => <li><code>{s}</code></li>)}</ul>
  }

  private def identity(r: QueryReport): NodeSeq =
    Words.identity(r).map(l => <p>{l}</p>) ++ r.query.sql.toSeq.map(s => <pre><code>{s}</code></pre>)

  private def settings(r: QueryReport): NodeSeq = Html.table(
    Seq("setting", "value"),
    r.settings.toSeq.map { case (k, v) => Seq[NodeSeq](<code>{k}</code>, <code>{v}</code>) }
  )

  private def text(s: String): NodeSeq = scala.xml.Text(s)
}

/** A runtime filter: from which keys to which scan, and what it removed. */
private[page] object FilterCard {
  def apply(f: FilterEntry): Elem =
    <article class="card"><h4>{f.id.fold("")(_ + " ")}<code>{
      Words.target(f).fold("")(_ + " <- ") + f.source
    }</code></h4><p>{
      Html.join(
        Seq(Html.chip(if (f.status == "used") "good" else "", f.status)) ++
          (f.kinds ++ f.scope).map(k => Html.soft(k)) :+ Html.soft(s"of join ${f.join}")
      )
    }</p>{effect(f)}{
      if (f.status == "used") NodeSeq.Empty else <p>{Words.reason(f.reason)}</p>
    }{more(f)}</article>

  private def effect(f: FilterEntry): NodeSeq =
    Some(Words.removed(f)).filter(_.nonEmpty).orElse(Words.expected(f)).toSeq.map(t => <p>{t}</p>)

  private def more(f: FilterEntry): NodeSeq = {
    val facts = Words.effect(f).filterNot(_ == Words.removed(f)) ++
      Some(Words.reason(f.reason)).filter(_ => f.status == "used")
    if (facts.isEmpty) NodeSeq.Empty
    else <details><summary>keys and size</summary><ul>{facts.map(t => <li>{t}</li>)}</ul></details>
  }
}

/** A join: what executes it, why, and what was expected of it beside what was observed. Other strategies are folded. */
private[page] object JoinCard {

  /**
   * @param most
   *   the rows that the longest bar stands for
   */
  def apply(j: JoinEntry, most: Double): Elem =
    <article class="card"><h4>{s"${j.id} ${j.`type`} "}<code>{Words.keys(j)}</code></h4>{
      j.otherConjuncts
        .filter(_ => j.leftKeys.nonEmpty)
        .toSeq
        .map(c => <p><span class="soft">and</span> <code>{c}</code></p>)
    }<p>{chosen(j)}</p>{j.reason.toSeq.map(r => <p>{Words.reason(r)}</p>)}{bars(j, most)}{more(j)}</article>

  private def chosen(j: JoinEntry): NodeSeq = {
    val name = Words.strategy(j).getOrElse("not in the plan")
    Html.join(
      Seq[NodeSeq](<strong>{name}</strong>) ++
        Words.distribution(j).map(d => Html.soft(d)) ++
        Words.changed(j).map(Html.chip("", _)) ++ Words.hintIgnored(j).map(Html.chip("bad", _)) ++
        Words.sparkAlone(j).map(s => Html.soft(s"Spark alone: $s"))
    )
  }

  private def bars(j: JoinEntry, most: Double): NodeSeq = {
    val inputs = Seq("left" -> j.left, "right" -> j.right).flatMap { case (name, s) =>
      Html.bars(name, s.estimatedRows.orElse(s.rows), s.observedRows, s.qError, most)
    }
    val out = Html.bars("output", j.estimatedRows, j.outputRows, j.qError, most)
    if (inputs.isEmpty && out.isEmpty) NodeSeq.Empty else <div class="bars">{inputs ++ out}</div>
  }

  private def more(j: JoinEntry): NodeSeq = {
    val sides = Seq("left" -> j.left, "right" -> j.right).map { case (name, s) => s"$name: ${Words.side(s)}" }
    val memory = j.memoryBytes.map(b => s"memory: ${Reason.bytes(b)} of each executor")
    val rest = sides ++ memory ++ j.notes.map(Words.reason) ++
      j.alternatives.map(a => s"${a.strategy}: ${Words.cost(a)}")
    <details><summary>alternatives and statistics</summary><ul>{rest.map(t => <li>{t}</li>)}</ul></details>
  }
}

/**
 * A report in a few numbers, for lists of queries.
 *
 * @param joinsChanged
 *   joins that Springbok decided and that the plan has
 * @param rowsRemoved
 *   rows that filters removed one by one, after the scan
 * @param savedCoreMs
 *   ms of one core that filters saved, by estimate
 * @param warnings
 *   tables without statistics, hints that were not followed, and rules that failed
 */
final private[springbok] case class ReportSummary(
    joins: Int,
    joinsChanged: Int,
    filters: Int,
    filtersUsed: Int,
    rowsRemoved: Long,
    savedCoreMs: Long,
    warnings: Int
) {
  def +(o: ReportSummary): ReportSummary = ReportSummary(
    joins + o.joins,
    joinsChanged + o.joinsChanged,
    filters + o.filters,
    filtersUsed + o.filtersUsed,
    rowsRemoved + o.rowsRemoved,
    savedCoreMs + o.savedCoreMs,
    warnings + o.warnings
  )
}

private[springbok] object ReportSummary {
  def apply(r: QueryReport): ReportSummary = ReportSummary(
    joins = r.joins.size,
    joinsChanged =
      r.joins.count(j => j.strategy.isDefined && !j.plannedBySpark && Words.sparkAlone(j).isDefined),
    filters = r.filters.count(_.id.isDefined),
    filtersUsed = r.filters.count(_.status == "used"),
    rowsRemoved = r.filters.flatMap(_.rowsRemoved).sum,
    savedCoreMs = r.saved.fold(0L)(_.coreMs.round),
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

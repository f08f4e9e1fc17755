package org.apache.spark.sql.springbok.report.page

import scala.xml.{Elem, NodeSeq, Text}

import org.apache.spark.sql.springbok.report.Words

/** What the parts of the page have in common. Scala's XML escapes every text. */
private[page] object Html {
  def soft(text: String): Elem = <span class="soft">{text}</span>

  /** A word on a coloured ground: `good`, `bad` or neither. */
  def chip(kind: String, text: String): Elem = <span class={s"chip $kind".trim}>{text}</span>

  def join(parts: Seq[NodeSeq]): NodeSeq =
    parts.reduceOption((a, b) => a ++ Text(" ") ++ b).getOrElse(NodeSeq.Empty)

  def section(title: String, content: NodeSeq): NodeSeq =
    if (content.isEmpty) NodeSeq.Empty else <section aria-label={title}><h3>{title}</h3>{content}</section>

  def folded(title: String, content: NodeSeq): NodeSeq =
    if (content.isEmpty) NodeSeq.Empty else <details><summary>{title}</summary>{content}</details>

  def table(head: Seq[String], rows: Seq[Seq[NodeSeq]]): NodeSeq =
    if (rows.isEmpty) NodeSeq.Empty
    else
      <div class="scroll" tabindex="0"><table><thead><tr>{
        head.map(h => <th scope="col">{h}</th>)
      }</tr></thead><tbody>{
        rows.map(r => <tr>{r.map(c => <td>{c}</td>)}</tr>)
      }</tbody></table></div>

  /** Rows that were expected and observed, as bars of a logarithmic scale; empty if neither is known. */
  def bars(
      name: String,
      expected: Option[Double],
      observed: Option[Long],
      q: Option[Double],
      most: Double
  ): Seq[NodeSeq] = {
    val off = Words.factor(q)
    val mark: NodeSeq =
      if (off.isEmpty) NodeSeq.Empty else Text(" ") ++ chip(if (q.exists(_ >= 10)) "bad" else "", off)
    expected.toSeq.map(n => bar(s"$name expected", n, "bar", most, NodeSeq.Empty)) ++
      observed.map(n => bar(s"$name observed", n.toDouble, "bar seen", most, mark))
  }

  private def bar(name: String, rows: Double, kind: String, most: Double, mark: NodeSeq): NodeSeq = {
    val share = math.log1p(rows) / math.log1p(math.max(1, most)) * 100
    <span>{name}</span> ++ <span class={kind} style={s"width:${math.round(math.min(100, share))}%"}></span> ++
      <span>{Words.amount(rows)}{mark}</span>
  }
}

/**
 * The style sheet of a report. All rules are below `.springbok`, so that a report can stand in a page of others. Colours follow
 * the reader's system, or in the Spark UI its own switch.
 */
private[page] object PageStyle {
  private val light =
    "--ink:#1b1f24;--soft:#59636e;--line:#d1d9e0;--box:#f6f8fa;--good:#116329;--goodbg:#dafbe1;--idle:#7d4e00;" +
      "--idlebg:#fff3d6;--bad:#a40e26;--badbg:#ffebe9;--flow:#8ba3bd;--cast:#b9a1d6;--page:#fff"

  private val dark =
    "--ink:#e6edf3;--soft:#9198a1;--line:#3d444d;--box:#161b22;--good:#7ee2a0;--goodbg:#12361f;--idle:#f0c674;" +
      "--idlebg:#3a2d0c;--bad:#ff9a92;--badbg:#481318;--flow:#4d6a8a;--cast:#72599b;--page:#0d1117"

  private val colours = s".springbok{$light}@media (prefers-color-scheme:dark){.springbok{$dark}}" +
    s"[data-bs-theme=light] .springbok{$light}[data-bs-theme=dark] .springbok{$dark}"

  val text: String = colours +
    """.springbok{color:var(--ink);background:var(--page);font:14px/1.45 system-ui,sans-serif;max-width:80rem}
      |.springbok h2{margin:0 0 .4em;font-size:18px;font-weight:600}
      |.springbok h3{margin:1.4em 0 .5em;font-size:15px;font-weight:600}
      |.springbok h4{margin:0 0 .3em;font-size:14px;font-weight:600;overflow-wrap:anywhere}
      |.springbok p{margin:.3em 0}
      |.springbok table{border-collapse:collapse;width:100%}
      |.springbok th,.springbok td{border-bottom:1px solid var(--line);padding:.35em .6em;text-align:left;
      |vertical-align:top;background:none;color:inherit;overflow-wrap:anywhere}
      |.springbok th{color:var(--soft);font-weight:600;white-space:nowrap}
      |.springbok code{font:12px ui-monospace,monospace;overflow-wrap:anywhere;color:inherit;background:none;padding:0}
      |.springbok .soft{color:var(--soft)}
      |.springbok .chip{border-radius:4px;padding:0 .4em;white-space:nowrap;color:var(--idle);background:var(--idlebg)}
      |.springbok h2 .chip{white-space:normal;font-size:14px;font-weight:400}
      |.springbok .chip.good{color:var(--good);background:var(--goodbg)}
      |.springbok .chip.bad{color:var(--bad);background:var(--badbg)}
      |.springbok .scroll{overflow-x:auto;border:1px solid var(--line);border-radius:6px}
      |.springbok .cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,24rem),1fr));gap:.8rem}
      |.springbok .card{border:1px solid var(--line);border-radius:6px;padding:.6rem .8rem;break-inside:avoid;min-width:0}
      |.springbok details summary{cursor:pointer;color:var(--soft)}
      |.springbok ul{margin:.3em 0;padding-left:1.2em}
      |.springbok .bars{display:grid;grid-template-columns:auto minmax(3rem,1fr) auto;gap:.1em .6em;align-items:center;
      |margin:.3em 0;font-size:12px}
      |.springbok .bar{height:.7em;border-radius:2px;background:var(--flow)}
      |.springbok .bar.seen{background:var(--good)}
      |.springbok svg{display:block;max-width:none}
      |.springbok svg text{font:11px ui-monospace,monospace;fill:var(--ink)}
      |.springbok svg .head{font-weight:700}
      |.springbok svg .label{fill:var(--soft)}
      |.springbok svg rect{fill:var(--box);stroke:var(--line);stroke-width:1.5}
      |.springbok svg .rows{fill:none;stroke:var(--flow);stroke-linecap:round}
      |.springbok svg .broadcast{stroke:var(--cast)}
      |.springbok svg .filter{fill:none;stroke:var(--good);stroke-width:1.5;stroke-dasharray:5 4}
      |.springbok svg .filterlabel,.springbok svg marker path{fill:var(--good)}
      |@media print{.springbok{max-width:none}.springbok .scroll{overflow:visible}.springbok svg{max-width:100%;height:auto}}
      |""".stripMargin

  /** Of the page around a report that stands alone. */
  val page: String =
    "body{margin:2rem;background:#fff}@media (max-width:40rem){body{margin:.6rem}}" +
      "@media (prefers-color-scheme:dark){body{background:#0d1117}}"
}

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

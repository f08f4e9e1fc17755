package org.apache.spark.sql.springbok.report.page

import scala.xml.{Elem, NodeSeq}

import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.report.Words
import org.apache.spark.sql.springbok.report.model.FilterEntry

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

  private def effect(f: FilterEntry): NodeSeq = {
    val text = Words.removed(f)
    if (text.nonEmpty) <p>{text}</p>
    else
      f.expectedRetained.fold(NodeSeq.Empty)(r =>
        <p>{s"expected to retain ${Words.percent(r)} of the rows"}</p>
      )
  }

  private def more(f: FilterEntry): NodeSeq = {
    val facts = f.buildKeys.map(n => s"built from ${Words.amount(n.toDouble)} keys").toSeq ++
      f.bytes.filter(_ > 0).map(b => Reason.bytes(b.toDouble)) ++
      f.falsePositiveRate.filter(_ > 0).map(p => s"${Words.percent(p)} false positives") ++
      Words.told(f) ++
      f.waitedMs.map(ms => s"waited $ms ms") ++
      Words.late(f) ++
      f.scanRows.map(n => s"the scan read ${Words.amount(n.toDouble)} rows") ++
      f.pauses.filter(_ > 0).map(n => s"switched off $n times for a while") ++
      Some(Words.reason(f.reason)).filter(_ => f.status == "used")
    if (facts.isEmpty) NodeSeq.Empty
    else <details><summary>keys and size</summary><ul>{facts.map(t => <li>{t}</li>)}</ul></details>
  }
}

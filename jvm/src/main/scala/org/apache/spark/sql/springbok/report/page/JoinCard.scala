package org.apache.spark.sql.springbok.report.page

import scala.xml.{Elem, NodeSeq}

import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.report.Words
import org.apache.spark.sql.springbok.report.model._

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
    val changed = j.before.filter(_ => j.revised).map(b => s"changed at run time from $b")
    val ignored = j.hint.filter(_ => j.hintHonoured.contains(false)).map(h => s"hint $h not followed")
    Html.join(
      Seq[NodeSeq](<strong>{name}</strong>) ++
        Words.distribution(j).map(d => Html.soft(d)) ++
        changed.map(Html.chip("", _)) ++ ignored.map(Html.chip("bad", _)) ++
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
    val sides = Seq("left" -> j.left, "right" -> j.right).map { case (name, s) => side(name, s) }
    val memory = j.memoryBytes.map(b => s"memory: ${Reason.bytes(b)} of each executor")
    val rest = sides ++ memory ++ j.notes.map(Words.reason) ++
      j.alternatives.map(a => s"${a.strategy}: ${Words.cost(a)}")
    <details><summary>alternatives and statistics</summary><ul>{rest.map(t => <li>{t}</li>)}</ul></details>
  }

  private def side(name: String, s: SideEntry): String = {
    val bound = s.boundBytes.fold("")(b => s", at most ${Reason.bytes(b)}")
    s"$name: ${Words.amount(s.rows)} rows (${s.rowsSource})$bound" + (if (s.partitioned)
                                                                        ", already partitioned"
                                                                      else "")
  }
}

package org.apache.spark.sql.springbok.report.page

import scala.collection.mutable
import scala.xml.{Elem, NodeSeq}

import org.apache.spark.sql.springbok.report.Words
import org.apache.spark.sql.springbok.report.model._

/** The plan as an inline SVG: fragments as boxes, exchanges as lines as wide as their rows, filters as dashed arrows. */
final private[page] class PlanPicture(r: QueryReport) {
  import PlanLayout.{boxWidth, lineHeight}

  private val joins = r.joins.map(j => j.id.toLong -> j).toMap
  private lazy val layout = new PlanLayout(r.fragments, lines)

  /** Empty for a report without fragments. */
  def svg: NodeSeq = if (r.fragments.isEmpty) NodeSeq.Empty else drawn

  private def drawn: Elem =
    <svg role="img" aria-label={label} width={px(layout.width)} height={px(layout.height)} viewBox={
      s"0 0 ${px(layout.width)} ${px(layout.height)}"
    }><defs><marker id="springbok-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>{
      r.fragments.flatMap(flows)
    }{filters}{r.fragments.map(f => box(layout.boxes(f.id)))}</svg>

  private def label: String = {
    val arrows = filters.size
    s"The query's plan: ${r.fragments.size} fragments, ${r.joins.size} joins, $arrows runtime filters"
  }

  /** What stands in a box: its kind, then what is worth knowing of its operators, each with its rows. */
  private def lines(f: FragmentEntry): Seq[BoxLine] = {
    val all = BoxLine(s"${f.id} ${f.kind}, ${f.partitioning.kind}", "rows") +: f.nodes.flatMap(line)
    if (all.size <= PlanPicture.mostLines) all
    else
      all.take(PlanPicture.mostLines - 1) :+ BoxLine(s"and ${all.size - PlanPicture.mostLines + 1} more", "")
  }

  private def line(n: NodeEntry): Option[BoxLine] = {
    val text = n.join.flatMap(joins.get) match {
      case Some(j) => Some(s"join ${j.id} ${j.strategy.getOrElse("")}")
      case None if n.filter.isDefined => Some(n.label.stripPrefix("RuntimeFilter "))
      case None => Some(n.label).filter(PlanPicture.worthShowing(n))
    }
    text.map(BoxLine(_, count(n.rows, n.estimatedRows)))
  }

  private def count(rows: Option[Long], estimated: Option[Double]): String =
    rows.map(n => Words.amount(n.toDouble)).orElse(estimated.map("~" + Words.amount(_))).getOrElse("")

  private def box(b: Box): Elem =
    <g><title>{b.fragment.nodes.take(40).map(_.label).mkString("\n")}</title>
      <rect x={px(b.x)} y={px(b.y)} width={px(boxWidth)} height={px(b.height)} rx="6"/>{
      b.lines.zipWithIndex.flatMap { case (l, i) => row(l, b.x, b.y + 18 + lineHeight * i, head = i == 0) }
    }</g>

  private def row(l: BoxLine, x: Double, y: Double, head: Boolean): NodeSeq = {
    val most = PlanPicture.mostCharacters - l.count.length
    val text = if (l.text.length <= most) l.text else l.text.take(most - 1) + "…"
    <text x={px(x + 9)} y={px(y)} class={if (head) "head" else null}>{text}</text> ++
      (if (l.count.isEmpty) NodeSeq.Empty
       else <text class="label" text-anchor="end" x={px(x + boxWidth - 9)} y={px(y)}>{l.count}</text>)
  }

  /** Lines from a fragment to those that read it, their width the logarithm of the rows. */
  private def flows(f: FragmentEntry): NodeSeq =
    for (e <- f.exchange.toSeq; to <- e.to; path <- flow(f, e, layout.boxes(to))) yield path

  private def flow(f: FragmentEntry, e: ExchangeEntry, to: Box): NodeSeq = {
    val from = layout.boxes(f.id)
    val rows = e.rows.map(_.toDouble).orElse(e.estimatedRows)
    val wide = 1.5 + 1.2 * math.log10(math.max(1, rows.getOrElse(1.0)))
    val (x1, y1, x2, y2) = (from.x + boxWidth / 2, from.y + from.height, to.x + boxWidth / 2, to.y)
    val middle = (y1 + y2) / 2
    val text = s"${f.kind} ${count(e.rows, e.estimatedRows)}".trim
    <path class={s"rows ${f.kind}"} stroke-width={"%.1f".formatLocal(java.util.Locale.ROOT, wide)} d={
      s"M${px(x1)} ${px(y1)}C${px(x1)} ${px(middle)} ${px(x2)} ${px(middle)} ${px(x2)} ${px(y2)}"
    }><title>{text} rows</title></path> ++
      <text class="label" x={px((x1 + x2) / 2 + 10)} y={px(middle + 4)}>{text}</text>
  }

  private lazy val filters: Seq[NodeSeq] = for {
    f <- r.filters if f.status == "placed" || f.status == "used"
    from <- f.fromFragment.flatMap(layout.boxes.get).toSeq
    to <- f.toFragments.flatMap(layout.boxes.get(_)) if to != from
  } yield arrow(f.id.getOrElse(""), from, to)

  /** From the right or left edge of the build side's box to the near edge of the scan's. */
  private def arrow(name: String, from: Box, to: Box): NodeSeq = {
    val right = to.x >= from.x
    val near = math.abs(to.x - from.x) < boxWidth
    val bend = if (right) 30 else -30
    val (x1, y1) = (from.x + (if (right) boxWidth else 0), from.y + from.height / 2)
    val (x2, y2) = (to.x + (if (near == right) boxWidth else 0), to.y + 24)
    val end = if (near) bend else -bend
    <path class="filter" marker-end="url(#springbok-arrow)" d={
      s"M${px(x1)} ${px(y1)}C${px(x1 + bend)} ${px(y1)} ${px(x2 + end)} ${px(y2)} ${px(x2)} ${px(y2)}"
    }><title>{name}</title></path> ++
      <text class="filterlabel" x={px((x1 + x2) / 2 + (if (near) bend else -12))} y={
        px((y1 + y2) / 2 - 4)
      }>{name}</text>
  }

  private def px(n: Double): String = math.round(n).toString
}

private object PlanPicture {
  private val mostLines = 7
  private val mostCharacters = 42

  private def worthShowing(n: NodeEntry)(label: String): Boolean =
    n.operator.endsWith("Join") || Seq("Scan", "Aggregate", "Filter", "Window").exists(label.startsWith)
}

/** A line in a fragment's box, and the number at its end. */
final private[page] case class BoxLine(text: String, count: String)

/** The box of a fragment in px. */
final private[page] case class Box(fragment: FragmentEntry, lines: Seq[BoxLine], x: Double, y: Double) {
  def height: Double = PlanLayout.height(lines)
}

/**
 * Where the fragments of a plan stand: scans at the top, the result at the bottom, each fragment above those that read it.
 *
 * @param width
 *   of the whole, in px, as `height`
 */
final private[page] class PlanLayout(fragments: Seq[FragmentEntry], lines: FragmentEntry => Seq[BoxLine]) {
  import PlanLayout._

  private val readers: Map[Long, Seq[Long]] =
    fragments.flatMap(f => f.inputs.map(_ -> f.id)).groupMap(_._1)(_._2)

  private val texts: Map[Long, Seq[BoxLine]] = fragments.map(f => f.id -> lines(f)).toMap

  private val layers: Seq[Seq[Long]] = {
    val depth = mutable.HashMap.empty[Long, Int].withDefaultValue(0)
    // A fragment stands before its readers.
    for (f <- fragments.reverse; i <- f.inputs) depth(i) = math.max(depth(i), depth(f.id) + 1)
    fragments.map(_.id).groupBy(depth).toSeq.sortBy(-_._1).map(_._2)
  }

  val width: Double = layers.map(_.size).max * (boxWidth + gap)

  private val tops: Seq[Double] =
    layers.scanLeft(10.0)((top, layer) => top + layer.map(i => PlanLayout.height(texts(i))).max + rise)
  val height: Double = tops.last - rise + 10

  private val lefts: Map[Long, Double] = layers.foldRight(Map.empty[Long, Double]) { (layer, known) =>
    val sorted = layer.sortBy(i => (readers.getOrElse(i, Nil).flatMap(known.get).minOption.getOrElse(0.0), i))
    val start = (width - layer.size * (boxWidth + gap)) / 2 + 10
    known ++ sorted.zipWithIndex.map { case (i, at) => i -> (start + at * (boxWidth + gap)) }
  }

  val boxes: Map[Long, Box] = {
    val byId = fragments.map(f => f.id -> f).toMap
    for ((layer, top) <- layers.zip(tops); i <- layer) yield i -> Box(byId(i), texts(i), lefts(i), top)
  }.toMap
}

private[page] object PlanLayout {
  val boxWidth = 300.0
  val lineHeight = 15.0
  private val gap = 90.0
  private val rise = 64.0

  def height(lines: Seq[BoxLine]): Double = 14 + lineHeight * lines.size
}

package org.apache.spark.sql.springbok.report.page

import scala.collection.mutable

import org.apache.spark.sql.springbok.report.model.FragmentEntry

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

package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.catalyst.expressions.AttributeMap
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.exchange.{Exchange, ShuffleExchangeLike}
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.execution.springbok.AppliedRuntimeFilterExec
import org.apache.spark.sql.springbok.cost.CostConstants
import org.apache.spark.sql.springbok.record.JoinState
import org.apache.spark.sql.springbok.report.model.SavedEntry
import org.apache.spark.sql.springbok.stats.estimate.Estimate

/**
 * What the runtime filters of a finished query saved, by estimate: nobody knows the run without them.
 *
 * Row groups that a scan skipped are taken to be of average size. The rows in them that the scan's own conditions retain are
 * those that were expected to come to the filters and did not come. Rows without a filter are taken to reach the next shuffle
 * as often as the rows that passed it, unless their join stands before it. Times are those of the cost model that places filters.
 */
final private[springbok] class SavingsReport(graph: PlanGraph, numbers: PlanNumbers) {
  import PlanNumbers.rowsOf
  import SavingsReport._

  /** None before the query has run, and if no filter was applied. */
  def entry: Option[SavedEntry] = {
    val scans = if (numbers.ran) filtered else Nil
    Option.when(scans.nonEmpty)(scans.map(saved).reduce(_ + _).entry)
  }

  /** The filters on each scan, the topmost first. */
  private def filtered: Seq[Seq[PlanNode]] =
    graph.nodes
      .filter(n => FragmentReport.filter(n.plan).isDefined && n.plan.isInstanceOf[AppliedRuntimeFilterExec])
      .groupBy(graph.source(_).id)
      .values
      .toSeq

  private def saved(on: Seq[PlanNode]): Saved = {
    val filters = on.map(_.plan).collect { case f: AppliedRuntimeFilterExec => f }
    val (came, passed) = (rowsOf(filters.last.child), rowsOf(filters.head))
    val columns = filters.head.collectLeaves().headOption.fold(0)(_.output.size)
    val skipped = rowsSkipped(on.last, came, filters)
    val gone = came - passed + skipped
    val nsARow = filters.flatMap(f => Option(f.filter)).map(_.saving.ns).maxOption.getOrElse(0.0)
    val ns = gone * nsARow + skipped * columns * CostConstants.decodeNs
    val moved = if (filters.exists(joinsBeyond(on.head, _))) gone * shuffledBytes(on.head, passed) else 0.0
    Saved(skipped, came - passed, moved, ns / 1e6)
  }

  /** Whether the filter's join stands beyond the next exchange. One before it would have removed the rows as well. */
  private def joinsBeyond(n: PlanNode, f: AppliedRuntimeFilterExec): Boolean = {
    val here = graph.fragments(graph.home(n.id)).nodes.map(_.plan).collect { case j: BaseJoinExec => j }
    val joins = here.flatMap(j => JoinState.of(j).map(_.id)).toSet
    FragmentReport.filter(f).forall(r => !joins(r.join.id))
  }

  /**
   * Rows that would have come to the filters, and lie in row groups that the scan skipped by them. Several filters may skip the
   * same row groups, and the scan's own conditions some of them.
   */
  private def rowsSkipped(lowest: PlanNode, came: Long, filters: Seq[AppliedRuntimeFilterExec]): Double =
    filters.head.collectLeaves().headOption match {
      case Some(s: FileSourceScanExec) =>
        val part = filters.flatMap(_.rowGroups).collect {
          case (removed, all) if all > 0 => removed.toDouble / all
        }
        val most = part.maxOption.getOrElse(0.0) * numbers.footers(s.relation).fold(0.0)(_.rows)
        val expected = lowest.inputs.headOption.flatMap(numbers.estimatedRows(_))
        math.min(most, expected.fold(most)(e => math.max(0.0, e - came)))
      case _ => 0.0
    }

  /** Bytes that a row which passes the filters sends through the shuffle above them, 0 if there is none. */
  private def shuffledBytes(topmost: PlanNode, passed: Long): Double =
    graph.fragments(graph.home(topmost.id)).exchange.fold(0.0) {
      case e: ShuffleExchangeLike =>
        val sent = PlanNumbers.metric(e, "dataSize").filter(_ => passed > 0).map(_.toDouble / passed)
        sent.getOrElse(Estimate.rowBytes((e: Exchange).output, AttributeMap.empty))
      case _ => 0.0
    }
}

private[springbok] object SavingsReport {
  final private case class Saved(notRead: Double, removed: Long, bytes: Double, ms: Double) {
    def +(o: Saved): Saved = Saved(notRead + o.notRead, removed + o.removed, bytes + o.bytes, ms + o.ms)
    def entry: SavedEntry = SavedEntry(notRead.round, removed, bytes.round, ms)
  }
}

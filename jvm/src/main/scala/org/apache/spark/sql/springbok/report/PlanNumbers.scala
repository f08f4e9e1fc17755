package org.apache.spark.sql.springbok.report

import java.util.IdentityHashMap

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.AttributeMap
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.execution.springbok.AppliedRuntimeFilterExec
import org.apache.spark.sql.springbok.physical.KeepsRows
import org.apache.spark.sql.springbok.record.{FilterRecord, JoinState}
import org.apache.spark.sql.springbok.stats.estimate.{Estimate, Source}
import org.apache.spark.sql.springbok.stats.operator.PlanStats
import org.apache.spark.sql.springbok.stats.source.TableFooters

/**
 * Estimated and observed rows and bytes of a plan's operators and exchanges.
 *
 * Estimates are those of the first planning, also after stages have finished. Between the scan that a runtime filter is
 * applied to and the filter's join they leave out the rows that the filter was expected to remove.
 *
 * @param ran
 *   whether the metrics are those of a finished run
 * @param lasting
 *   the estimates that planning has made
 */
final private[springbok] class PlanNumbers(graph: PlanGraph, val ran: Boolean, lasting: PlanStats.Lasting) {
  private val stats = new PlanStats(lasting = lasting)

  // Made when it is asked for: EXPLAIN shows no estimates of operators.
  private val guesses = mutable.Map.empty[Int, Guess]

  def statistics(p: LogicalPlan): Estimate = stats(p)

  private val footersRead = new IdentityHashMap[HadoopFsRelation, Option[TableFooters]]()

  /** The footers of a table. They are looked up once a report: that lists the table's files. */
  def footers(fs: HadoopFsRelation): Option[TableFooters] =
    footersRead.computeIfAbsent(fs, r => stats.footers(r))

  /** Files that a scan was planned with. */
  def filesRead(scan: SparkPlan): Option[Long] = PlanNumbers.metric(scan, "numFiles")

  def estimatedRows(n: PlanNode): Option[Double] = Shown.finite(of(n).rows)

  /** Where an operator's estimated rows come from. */
  def source(n: PlanNode): Option[Source] = of(n).source

  def estimatedRows(i: PlanInput): Option[Double] = Shown.finite(of(i).rows)

  /** Bytes of an input's rows in memory. */
  def estimatedBytes(i: PlanInput): Option[Double] = {
    val top = i match {
      case PlanInput.Operator(n) => n.plan
      case PlanInput.Fragment(f) => graph.fragments(f).nodes.head.plan
    }
    val columns = PlanNumbers.link(top).map(stats(_).columns).getOrElse(AttributeMap.empty)
    estimatedRows(i).map(_ * Estimate.rowBytes(top.output, columns))
  }

  /** Rows that came out of an operator. */
  def rows(n: PlanNode): Option[Long] = if (ran) PlanNumbers.metric(n.plan, "numOutputRows") else None

  /** Rows that an input gave, counted by the first operator that counts its rows, if all above it keep every row. */
  def rows(i: PlanInput): Option[Long] = i match {
    case PlanInput.Fragment(f) => graph.fragments(f).exchange.flatMap(sent)
    case PlanInput.Operator(n) =>
      rows(n).orElse(if (PlanNumbers.keepsRows(n.plan) && n.inputs.size == 1) rows(n.inputs.head) else None)
  }

  /** Rows that went through an exchange. */
  def sent(e: Exchange): Option[Long] =
    if (!ran) None
    else PlanNumbers.metric(e, "shuffleRecordsWritten").orElse(PlanNumbers.metric(e, "numOutputRows"))

  /** Bytes of them in memory. */
  def bytes(i: PlanInput): Option[Long] = i match {
    case PlanInput.Fragment(f) if ran =>
      graph.fragments(f).exchange.flatMap(PlanNumbers.metric(_, "dataSize"))
    case PlanInput.Operator(n) if PlanNumbers.keepsRows(n.plan) && n.inputs.size == 1 => bytes(n.inputs.head)
    case _ => None
  }

  private def of(i: PlanInput): Guess = i match {
    case PlanInput.Operator(n) => of(n)
    case PlanInput.Fragment(f) => graph.fragments(f).nodes.headOption.fold(Guess(None, None, Set.empty))(of)
  }

  private def of(n: PlanNode): Guess = guesses.getOrElse(
    n.id, {
      val made = guess(n)
      guesses(n.id) = made
      made
    }
  )

  private def guess(n: PlanNode): Guess = {
    val below = n.inputs.toSeq.map(of(_))
    val filters = below.flatMap(_.filters).toSet
    n.plan match {
      case p if PlanNumbers.keepsRows(p) && below.size == 1 => below.head
      case s: FileSourceScanExec =>
        val table = PlanNumbers.link(s).flatMap(_.collectLeaves().headOption)
        val rows = table.flatMap(stats(_).rows)
        Guess(rows.map(_.value), rows.map(_.source), filters)
      case p =>
        val here = p match {
          case j: BaseJoinExec =>
            val join = JoinState.of(j).map(_.id)
            filters.filterNot(f => join.contains(f.join))
          case _ => filters ++ FragmentReport.filter(p).map(_.record)
        }
        val kept = here.toSeq.flatMap(_.expectedRetained).product
        val rows = p.logicalLink.flatMap(stats(_).rows)
        Guess(rows.map(_.value * kept), rows.map(_.source), here)
    }
  }
}

/** What was estimated of an operator's output, by what, and the runtime filters in it whose join is still above. */
final private case class Guess(rows: Option[Double], source: Option[Source], filters: Set[FilterRecord])

private[springbok] object PlanNumbers {

  /** Whether an operator gives exactly the rows that it takes. */
  def keepsRows(p: SparkPlan): Boolean = KeepsRows(p) || p.isInstanceOf[Exchange]

  def metric(p: SparkPlan, name: String): Option[Long] = p.metrics.get(name).map(_.value)

  /** Rows that came out of an operator, or of the first one below it that counts them. */
  def rowsOf(p: SparkPlan): Long = p match {
    case f: AppliedRuntimeFilterExec if f.predicate.isEmpty => rowsOf(f.child)
    case _ =>
      metric(p, "numOutputRows").orElse(p.children.headOption.map(rowsOf)).getOrElse(0L)
  }

  /** The logical operator of a physical one. An operator that planning has inserted has that of its child. */
  def link(p: SparkPlan): Option[LogicalPlan] =
    p.logicalLink.orElse(if (p.children.size == 1) link(p.children.head) else None)
}

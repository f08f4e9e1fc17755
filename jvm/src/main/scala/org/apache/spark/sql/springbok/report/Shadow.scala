package org.apache.spark.sql.springbok.report

import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.apache.spark.sql.springbok.cost.CostConstants
import org.apache.spark.sql.springbok.report.model.{ExecutionEntry, JoinEntry, QueryReport}

/**
 * Shadow mode: Spark plans and runs a query alone. When it has ended, a copy is planned as Springbok would have planned it, in
 * the thread that makes reports, and never runs.
 *
 * Planning may take [[share]] of the time that queries ran, and some seconds at the start. Queries beyond that leave no report.
 *
 * '''Why the answer cannot change''': with `spark.springbok.shadow` no rule changes a plan, as if Springbok were switched off.
 */
final private[springbok] class Shadow extends Logging {
  import Shadow._

  private var leftMs = mostMs

  /** The report of the copy; None if Springbok has nothing to decide or the time is used up. */
  def report(run: ExecutionEntry, qe: QueryExecution): Option[QueryReport] = {
    leftMs = math.min(mostMs, leftMs + run.durationMs * share)
    if (leftMs <= 0) {
      logInfo("A query was not planned in shadow mode: planning has used its share of the time.")
      None
    } else {
      val start = System.nanoTime()
      try planned(run, qe)
      finally leftMs -= (System.nanoTime() - start) / 1e6
    }
  }

  private def planned(run: ExecutionEntry, qe: QueryExecution): Option[QueryReport] = {
    val copy = WhatIf.planned(qe, Map(SpringbokConf.SHADOW.key -> "false"))
    ReportParts.stateOf(copy.optimizedPlan).map { state =>
      val report = SpringbokReport.of(copy)
      val note = if (state.leftToSpark.isDefined) report.note else Some(gain(report, run))
      val query = QueryIdentity.of(qe, state.database)
      report.copy(state = "shadow", note = note, query = query, execution = Some(run))
    }
  }
}

private object Shadow {

  /** Of the time that queries ran. */
  private val share = 0.02

  /** The most ms that planning may be ahead of its share. */
  private val mostMs = 10000.0

  private def gain(r: QueryReport, run: ExecutionEntry): String = {
    val ms = math.min(run.durationMs.toDouble, r.joins.map(strategyMs(_, r)).sum + filtersMs(r))
    f"Spark planned and ran the query alone in ${run.durationMs}%d ms. Springbok expects to save about $ms%.0f ms of it."
  }

  /** What the strategy that was chosen costs less than Spark's own, in ms of all cores. */
  private def strategyMs(j: JoinEntry, r: QueryReport): Double = {
    def cost(strategy: Option[String]) =
      j.alternatives.find(a => strategy.contains(a.strategy)).flatMap(_.costBytes)
    val saved = for (own <- cost(j.planned); spark <- cost(j.sparkStrategy)) yield math.max(0.0, spark - own)
    saved.getOrElse(0.0) * CostConstants.nsPerByte / 1e6 / cores(r)
  }

  /** All filters of a key have the same benefit. */
  private def filtersMs(r: QueryReport): Double =
    r.filters
      .filter(_.status == "placed")
      .distinctBy(f => f.join -> f.source)
      .flatMap(_.expectedBenefitMs)
      .sum

  private def cores(r: QueryReport): Int = math.max(1, r.resources.executors * r.resources.coresPerExecutor)
}

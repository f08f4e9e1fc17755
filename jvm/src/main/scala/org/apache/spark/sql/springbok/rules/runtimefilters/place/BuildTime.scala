package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{ExchangeQueryStageExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.springbok.{RuntimeFilterExec, SummarizeKeysExec}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.cost.FilterCost
import org.apache.spark.sql.springbok.physical.{PhysicalRows, StageTasks}

/**
 * How much time is lost while a scan waits for a build side. Waiting is free while the build side's tasks keep all cores busy:
 * the scan's own tasks would only take turns with them. What is lost are the cores that the build side leaves idle.
 *
 * @param cores
 *   tasks that run at a time
 */
final private[springbok] class BuildTime(
    rows: PhysicalRows,
    costs: OperatorCost,
    cores: Int,
    conf: SQLConf
) {
  import BuildTime._

  /** Time in ms of all cores that is lost until the exchange has finished, 0 if nothing is known. */
  def idleMs(exchange: SparkPlan): Double = exchange match {
    case q: QueryStageExec if q.isMaterialized => 0
    case q: ExchangeQueryStageExec => idleMs(SummarizeKeysExec.exchangeOf(q))
    case e =>
      val work = e.children.map(stage)
      val tasks = math.min(cores.toDouble, math.max(1.0, work.map(_.tasks).maxOption.getOrElse(1.0)))
      val ns = work.map(_.workNs).sum + count(e) * OperatorCost.of(e)
      work.map(_.belowMs).maxOption.getOrElse(0.0) + FilterCost.idle(ns, tasks, cores) / 1e6
  }

  private def stage(p: SparkPlan): Work = p match {
    case e: Exchange => Work(0, cores.toDouble, idleMs(e))
    case q: QueryStageExec => Work(0, cores.toDouble, idleMs(q))
    case f: RuntimeFilterExec =>
      val scan = stage(f.child)
      scan.copy(belowMs = math.max(scan.belowMs, idleMs(f.source)))
    case _ if p.children.isEmpty => Work(count(p) * p.output.size * FilterCost.decode, tasks(p), 0)
    case _ =>
      val below = p.children.map(stage)
      val own = p.children.zipWithIndex.map { case (c, i) => count(c) * costs.of(p, i) }
      Work(below.map(_.workNs).sum + own.sum, below.map(_.tasks).max, below.map(_.belowMs).max)
  }

  private def count(p: SparkPlan): Double = rows(p).getOrElse(0.0)

  private def tasks(leaf: SparkPlan): Double = leaf match {
    case s: FileSourceScanExec => StageTasks.splits(s, cores, conf)
    case _ => cores.toDouble
  }
}

private[springbok] object BuildTime {

  /**
   * A stage's work.
   *
   * @param workNs
   *   time in ns of one core
   * @param tasks
   *   the number of its tasks
   * @param belowMs
   *   time in ms that is lost in the stages that it waits for
   */
  final private case class Work(workNs: Double, tasks: Double, belowMs: Double)
}

package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.plans.physical.RoundRobinPartitioning
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{ExchangeQueryStageExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.{Exchange, ShuffleExchangeExec}
import org.apache.spark.sql.execution.springbok.{BuildSideExec, RuntimeFilterExec, SummarizeKeysExec}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterType, FilterWait}
import org.apache.spark.sql.springbok.cost.{ChoicePolicy, CostConstants, FilterCost}
import org.apache.spark.sql.springbok.physical.{LateFilter, LateFilterServer, PhysicalRows, StageTasks}
import org.apache.spark.sql.springbok.record.ScanWait

/** Whether scans wait for the stage that a filter comes from, or start at once and get the filter late. */
final private[springbok] class Waiting(buildTime: BuildTime, conf: SQLConf) {
  private val setting = conf.getConf(FilterConf.WAIT)
  private val waitMs = conf.getConf(FilterConf.WAIT_TIME)
  private val policy = ChoicePolicy.of(conf)
  private val blooms = conf.getConf(FilterConf.TYPES).contains(FilterType.Bloom)

  /** Whether a filter that saves little is made as well. */
  def always: Boolean = setting == FilterWait.Always

  /** Whether scans wait for the filters of a key. The answer holds until the build side has finished, when no scan waits. */
  def scansWait(key: CreationKey, benefitMs: Double): ScanWait = {
    val (join, index) = (key.side.state, key.on.index)
    val decided = join.filters.waits.get(index)
    setting match {
      case _ if key.hinted && !join.waitIsOver => ScanWait(waits = true, benefitMs)
      case _ if BuildSides.finished(key.exchange) =>
        decided.fold(ScanWait(waits = true, benefitMs))(_.copy(waits = true))
      case _ if join.waitIsOver => ScanWait(waits = false, benefitMs)
      case FilterWait.Always => ScanWait(waits = true, benefitMs)
      case FilterWait.Never => ScanWait(waits = false, benefitMs)
      case _ => decided.getOrElse(byCost(key, benefitMs))
    }
  }

  private def byCost(key: CreationKey, benefitMs: Double): ScanWait = {
    val idleMs = buildTime.idleMs(key.exchange)
    val waits = policy.waits(key.side.state.id, key.on.index)(idleMs <= benefitMs)
    ScanWait(waits, benefitMs, Some(idleMs))
  }

  /**
   * Whether a filter may arrive while its scan runs. It must be tested row by row, on rows that are neither grouped nor
   * distributed round-robin, and come from the exchange that its join itself waits for.
   */
  def mayBeLate(key: CreationKey, t: Target): Boolean = {
    val retained = key.retained.getOrElse(CostConstants.unknownRetained)
    val pays = FilterCost.pays(retained, t.saving.ns, FilterCost.test(0))
    blooms && key.on.range.isEmpty && key.on.from.isEmpty && !t.grouped && (pays || policy.ignoresCost) &&
    !key.side.join.exists {
      case e: ShuffleExchangeExec => e.outputPartitioning.isInstanceOf[RoundRobinPartitioning]
      case _ => false
    }
  }

  /** Time in ms of all cores that may be lost while the scans of a key wait: what its filters save, but at least the setting. */
  def mostIdleMs(c: Candidate): Double =
    if (always || c.key.hinted) Double.PositiveInfinity
    else math.max(conf.getConf(FilterConf.MAX_IDLE).toDouble, c.benefitMs)

  def lateFilter(): LateFilter = LateFilterServer.register(waitMs)
}

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
    case f: RuntimeFilterExec if !f.waits => stage(f.child)
    case f: RuntimeFilterExec =>
      val scan = stage(f.child)
      scan.copy(belowMs = math.max(scan.belowMs, idleMs(BuildSideExec.of(f.source))))
    case _ if p.children.isEmpty => Work(count(p) * p.output.size * CostConstants.decodeNs, tasks(p), 0)
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

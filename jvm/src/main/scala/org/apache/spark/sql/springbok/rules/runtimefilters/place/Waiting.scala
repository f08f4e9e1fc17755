package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.plans.physical.RoundRobinPartitioning
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterType, FilterWait}
import org.apache.spark.sql.springbok.cost.{ChoicePolicy, FilterCost}
import org.apache.spark.sql.springbok.physical.{LateFilter, LateFilterServer}
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
    val decided = join.scansWait.get(index)
    setting match {
      case _ if BuildSides.finished(key.exchange) =>
        decided.fold(ScanWait(waits = true, benefitMs))(_.copy(waits = true))
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
    val retained = key.retained.getOrElse(FilterCost.unknownRetained)
    val pays = FilterCost.pays(retained, t.saving.ns, FilterCost.test(0))
    blooms && key.on.range.isEmpty && key.on.from.isEmpty && !t.grouped && (pays || policy.ignoresCost) &&
    !key.side.join.exists {
      case e: ShuffleExchangeExec => e.outputPartitioning.isInstanceOf[RoundRobinPartitioning]
      case _ => false
    }
  }

  def lateFilter(): LateFilter = LateFilterServer.register(waitMs)
}

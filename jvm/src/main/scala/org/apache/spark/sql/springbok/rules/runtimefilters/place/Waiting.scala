package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.plans.physical.RoundRobinPartitioning
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterType, FilterWait}
import org.apache.spark.sql.springbok.cost.{ChoicePolicy, FilterCost}
import org.apache.spark.sql.springbok.physical.{LateFilter, LateFilterServer}

/** Whether scans wait for the stage that a filter comes from, or start at once and get the filter late. */
final private[springbok] class Waiting(buildTime: BuildTime, conf: SQLConf) {
  private val setting = conf.getConf(FilterConf.WAIT)
  private val waitMs = conf.getConf(FilterConf.WAIT_TIME)
  private val policy = ChoicePolicy.of(conf)
  private val blooms = conf.getConf(FilterConf.TYPES).contains(FilterType.Bloom)

  /** Whether a filter that saves little is made as well. */
  def always: Boolean = setting == FilterWait.Always

  /** Whether scans wait for the filters of a key. The answer holds until the build side has finished, when no scan waits. */
  def scansWait(key: CreationKey, benefitMs: Double): Boolean = {
    val (join, index) = (key.side.state, key.on.index)
    BuildSides.finished(key.exchange) || (setting match {
      case FilterWait.Always => true
      case FilterWait.Never => false
      case _ if join.scansWait.contains(index) => join.scansWait(index)
      case _ => policy.waits(join.id, index)(buildTime.idleMs(key.exchange) <= benefitMs)
    })
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

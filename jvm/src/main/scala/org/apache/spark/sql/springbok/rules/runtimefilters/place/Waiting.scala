package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.plans.physical.RoundRobinPartitioning
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterType, FilterWait}
import org.apache.spark.sql.springbok.cost.{ChoicePolicy, FilterCost}
import org.apache.spark.sql.springbok.physical.{LateFilter, LateFilterServer}
import org.apache.spark.sql.springbok.record.JoinState

/** Whether scans wait for the stage that a filter comes from, or start at once and get it late. */
final private[springbok] class Waiting(estimates: JoinEstimates, cores: Int, conf: SQLConf) {
  private val setting = conf.getConf(FilterConf.WAIT)
  private val waitMs = conf.getConf(FilterConf.WAIT_TIME)
  private val policy = ChoicePolicy.of(conf)
  private val blooms = conf.getConf(FilterConf.TYPES).contains(FilterType.Bloom)
  private val buildTime = new BuildTime(estimates, cores, conf)

  /** Whether a filter that saves little is made as well. */
  def always: Boolean = setting == FilterWait.Always

  /** Whether the scans wait; once said, that stays until the exchange has finished, and then nobody has to. */
  def edge(record: JoinState, on: FilterOn, exchange: SparkPlan, benefitMs: Double): Boolean =
    BuildSides.finished(exchange) || (setting match {
      case FilterWait.Always => true
      case FilterWait.Never => false
      case _ if record.scansWait.contains(on.index) => record.scansWait(on.index)
      case _ => policy.waits(record.id, on.index)(buildTime.idleMs(exchange) <= benefitMs)
    })

  /**
   * Whether a filter may come while its scan runs: one that is tested row by row, on rows that no group is made of and
   * that are not dealt out in turn; of the exchange that its join waits for itself.
   */
  def mayBeLate(j: BaseJoinExec, on: FilterOn, t: Target, kept: Option[Double]): Boolean = {
    val pays = FilterCost.pays(kept.getOrElse(FilterCost.unknownKept), t.saving.ns, FilterCost.test(0))
    blooms && on.range.isEmpty && on.from.isEmpty && !t.grouped && (pays || policy.ignoresCost) && !j.exists {
      case e: ShuffleExchangeExec => e.outputPartitioning.isInstanceOf[RoundRobinPartitioning]
      case _ => false
    }
  }

  /** The filter's late form, if it is one. */
  def late(edge: Boolean): Option[LateFilter] = Option.unless(edge)(LateFilterServer.register(waitMs))
}

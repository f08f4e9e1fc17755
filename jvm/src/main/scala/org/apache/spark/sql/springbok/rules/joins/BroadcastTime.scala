package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.internal.SQLConf

/**
 * Whether a build side may take longer than a broadcast is waited for, `spark.sql.broadcastTimeout`: without adaptive
 * execution all that is below it runs in that time, as small as its result may be.
 */
private[springbok] object BroadcastTime {

  /** Bytes of files that a core reads, joins and aggregates in a second: a fifth of what it mostly does. */
  private val bytesPerSecond = 20.0 * (1 << 20)

  def over(side: LogicalPlan, cores: Int, conf: SQLConf): Boolean = {
    val read = side.collectLeaves().map(_.stats.sizeInBytes.toDouble).sum
    conf.broadcastTimeout > 0 && read > conf.broadcastTimeout.toDouble * cores * bytesPerSecond
  }
}

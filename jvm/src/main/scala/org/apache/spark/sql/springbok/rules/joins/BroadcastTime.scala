package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.internal.SQLConf

/**
 * Whether a build side may take longer than a broadcast is waited for, `spark.sql.broadcastTimeout`. Without adaptive
 * execution, everything below the broadcast runs in that time, however small its result is.
 */
private[springbok] object BroadcastTime {

  /** Bytes of files that a core reads, joins and aggregates in a second: a fifth of what it mostly does. */
  private val bytesPerSecond = 20.0 * (1 << 20)

  def over(side: LogicalPlan, cores: Int, conf: SQLConf): Boolean = {
    val read = side.collectLeaves().map(_.stats.sizeInBytes.toDouble).sum
    conf.broadcastTimeout > 0 &&
    (side.exists(isUnbounded) || read > conf.broadcastTimeout.toDouble * cores * bytesPerSecond)
  }

  /** Whether the time of an operator cannot be told from the bytes that it reads. */
  private def isUnbounded(p: LogicalPlan): Boolean = p match {
    case _: BaseEvalPython | _: ObjectConsumer | _: ScriptTransformation | _: Generate => true
    case j: Join if ExtractEquiJoinKeys.unapply(j).isEmpty => true
    case _ => p.expressions.exists(_.exists(_.isInstanceOf[UserDefinedExpression]))
  }
}

package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage, ShuffleQueryStageExec}

/** A side that is a shuffle whose rows have been written, so that its sizes are known. */
private[joins] object FinishedShuffle {
  def unapply(p: LogicalPlan): Option[ShuffleQueryStageExec] = p match {
    case LogicalQueryStage(_, s: ShuffleQueryStageExec) if s.isMaterialized => Some(s)
    case _ => None
  }
}

package org.apache.spark.sql.springbok.physical

import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.springbok.record.JoinState

/** Marks exchanges that give the groups below a join a stage of their own. */
private[springbok] object SeparateStage {
  private val tag = TreeNodeTag[JoinState]("springbok.separate")

  /** Marks an exchange as one for this join. */
  def mark(e: ShuffleExchangeExec, join: JoinState): Unit = e.setTagValue(tag, join)

  /** The join that a marked exchange is for. */
  def joinOf(e: SparkPlan): Option[JoinState] = e.getTagValue(tag)
}

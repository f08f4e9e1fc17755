package org.apache.spark.sql.springbok.physical

import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{
  AdaptiveSparkPlanHelper,
  ExchangeQueryStageExec,
  ShuffleQueryStageExec
}
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.springbok.catalyst.{CurrentExecution, SparkPlanning}
import org.apache.spark.sql.springbok.record.JoinState

/** Has the tasks of a late filter's build side scheduled before those of its scan, which come first by their place in the plan. */
private[sql] object StartBuildSide extends AdaptiveSparkPlanHelper {

  /** Longest time in ms that a scan's stage is held back for its build side's to be submitted. */
  private val submitMs = 200L

  /**
   * Called when the scan's stage is about to be submitted, in a thread of its own.
   *
   * @param source
   *   the canonical form of the build side's exchange
   */
  def apply(filter: LateFilter, context: SparkContext, source: SparkPlan): Unit = {
    filter.beginScan()
    try
      for {
        query <- CurrentExecution.query(context)
        stage <- collectWithSubqueries(query.executedPlan) {
          // Not the lazy value `canonicalized`: on Spark 3.5 it takes the stage's lock, which the thread that submits the stage
          // holds while it waits for a subquery, perhaps the one that asks here.
          case s: ExchangeQueryStageExec if s._canonicalized == source => s
        }.headOption
      } submitted(stage)
    catch {
      // It fails again where adaptive execution starts it.
      case NonFatal(_) =>
    }
  }

  private def submitted(stage: ExchangeQueryStageExec): Unit = {
    val end = System.nanoTime + submitMs * 1000000
    val done = stage.materialize()
    stage match {
      case s: ShuffleQueryStageExec =>
        while (!done.isCompleted && !SparkPlanning.isSubmitted(s.shuffle) && System.nanoTime < end)
          Thread.sleep(1)
      // Adaptive execution begins with the broadcasts.
      case _ =>
    }
  }
}

/** Marks exchanges that give the groups below a join a stage of their own. */
private[springbok] object SeparateStage {
  private val tag = TreeNodeTag[JoinState]("springbok.separate")

  /** Marks an exchange as one for this join. */
  def mark(e: ShuffleExchangeExec, join: JoinState): Unit = e.setTagValue(tag, join)

  /** The join that a marked exchange is for. */
  def joinOf(e: SparkPlan): Option[JoinState] = e.getTagValue(tag)
}

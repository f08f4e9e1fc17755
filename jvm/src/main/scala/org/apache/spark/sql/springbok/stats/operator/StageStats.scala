package org.apache.spark.sql.springbok.stats.operator

import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage, QueryStageExec, TableCacheQueryStageExec}
import org.apache.spark.sql.springbok.catalyst.SparkPlanning
import org.apache.spark.sql.springbok.stats.RuntimeFeedback
import org.apache.spark.sql.springbok.stats.estimate.{Estimate, Rows, Source}

/**
 * Query stages. Their columns are those of the plan that they were made from: a stage keeps the ranges of its tables.
 */
private[operator] object StageStats {

  /** @param planned the estimate of the plan that the stage was made from */
  def apply(s: LogicalQueryStage, planned: Estimate, feedback: RuntimeFeedback): Estimate =
    if (SparkPlanning.isMaterialized(s)) finished(s, planned) else running(s, planned, feedback)

  private def finished(s: LogicalQueryStage, planned: Estimate): Estimate = {
    val stats = s.stats
    stats.rowCount.filterNot(_ => isCache(s)).fold(planned) { count =>
      val n = count.toDouble
      val width = if (n > 0) stats.sizeInBytes.toDouble / n else planned.rowBytes
      planned.counting(Rows(n, n, Source.Runtime)).copy(rowBytes = math.max(8, width))
    }
  }

  /** A cached table counts the bytes of its columns and not of rows, and knows nothing of the operators on its scan. */
  def isCache(s: LogicalQueryStage): Boolean =
    s.physicalPlan
      .collectFirst { case q: QueryStageExec => q }
      .exists(_.isInstanceOf[TableCacheQueryStageExec])

  /** A stage that has not finished: as planned, less what the runtime filters in it are expected to remove. */
  private def running(s: LogicalQueryStage, planned: Estimate, feedback: RuntimeFeedback): Estimate = {
    val retained = feedback.retained(s.physicalPlan)
    planned.withRows(planned.rows.map(r => r.copy(value = r.value * retained, source = Source.Estimated)))
  }
}

package org.apache.spark.sql.springbok.physical

import org.apache.spark.sql.execution.{ProjectExec, SortExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AQEShuffleReadExec
import org.apache.spark.sql.execution.springbok.SummarizeKeysExec

/** Whether an operator within a stage gives exactly the rows that it takes. */
private[springbok] object KeepsRows {
  def apply(p: SparkPlan): Boolean = p match {
    case _: ProjectExec | _: SortExec | _: AQEShuffleReadExec | _: SummarizeKeysExec => true
    case _ => false
  }
}

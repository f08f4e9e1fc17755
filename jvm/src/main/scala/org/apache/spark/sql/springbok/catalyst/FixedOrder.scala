package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, FileScan}
import org.apache.spark.sql.execution.exchange.Exchange

/** Plans whose tasks give the same rows in the same order when they run again, as a scan of files does. */
object FixedOrder {
  def apply(plan: SparkPlan): Boolean = plan match {
    case _: FileSourceScanExec => true
    case b: BatchScanExec => b.scan.isInstanceOf[FileScan]
    case HiveScan(table) => HiveScan.ofFiles(table)
    case _: Exchange => false
    case _ =>
      val inputs = PlanInputs.of(plan)
      inputs.nonEmpty && inputs.forall(apply)
  }
}

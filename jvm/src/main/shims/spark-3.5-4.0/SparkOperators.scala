package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.execution.{LocalTableScanExec, SparkPlan}

/** Operators that not all versions of Spark have. */
object SparkOperators {

  /** Whether the rows of this leaf are made on the driver. */
  def isLocal(p: SparkPlan): Boolean = p.isInstanceOf[LocalTableScanExec]
}

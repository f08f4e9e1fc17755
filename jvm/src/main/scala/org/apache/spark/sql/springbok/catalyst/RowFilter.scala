package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.execution.SparkPlan

/** An operator of Springbok that passes some or all rows of its child, unchanged and in the same order. */
trait RowFilter extends SparkPlan {
  def child: SparkPlan
}

package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.internal.SQLConf

/** Spark's rule that merges subplans with different filters, which these versions lack. */
object SparkSubplans {
  def merged(plan: LogicalPlan, conf: SQLConf): Option[LogicalPlan] = None
}

package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.optimizer.MergeSubplans
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.internal.SQLConf

/** Spark's rule that merges subplans with different filters. */
object SparkSubplans {

  /** The plan with such subplans merged, as if the settings that Spark leaves off were on. */
  def merged(plan: LogicalPlan, conf: SQLConf): Option[LogicalPlan] = {
    val changed = conf.clone()
    changed.setConf(SQLConf.MERGE_SUBPLANS_SYMMETRIC_FILTER_PROPAGATION_ENABLED, true)
    changed.setConf(SQLConf.MERGE_SUBPLANS_FILTER_PROPAGATION_THROUGH_JOIN_ENABLED, true)
    Some(SQLConf.withExistingConf(changed)(MergeSubplans(plan)))
  }
}

package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.expressions.Expression

/** Runtime filters of connectors' scans, where versions of Spark differ. */
object SparkConnectors {

  /** Whether a scan takes predicates that are no lists of keys. */
  val takeRanges: Boolean = true

  /** The predicate as a scan takes it; None if it cannot. */
  def runtimeFilter(predicate: Expression): Option[Expression] = Some(predicate)
}

package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.rules.runtimefilters.{PushableKeys, PushedFilter}
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/** Scans that are told of no filter: their rows are tested one by one. */
final private[connectors] class RowsOnly(why: Reason) extends ScanConnector {
  override def skips(column: Attribute, stats: PlanStats): Double = 0

  override def push(
      column: Attribute,
      keys: PushableKeys,
      filter: ScanConnector.Filter
  ): Either[Reason, PushedFilter] = Left(why)
}

package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.keys.KeyPredicates
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.rules.runtimefilters.{PushableKeys, PushedFilter}
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/**
 * Files that Spark itself reads, also those that the log of a Delta table names: see [[FilePruning]]. Delta's file index
 * skips files by the predicates that Spark hands to the scan.
 *
 * '''Why the answer cannot change''': the predicate is one more filter on the scan, as if the query had it.
 */
final private[connectors] class FileConnector(scan: FileSourceScanExec) extends ScanConnector {
  override def skips(column: Attribute, stats: PlanStats): Double =
    if (PrunableColumns.partitions(scan, column, SQLConf.get)) 1.0
    else stats.footers(scan.relation).flatMap(_.clustering(column.name)).getOrElse(0.0)

  override def push(
      column: Attribute,
      keys: PushableKeys,
      filter: ScanConnector.Filter
  ): Either[Reason, PushedFilter] = {
    val pruning = new FilePruning(scan, column, filter.keyType, filter.conf, keys.anyway)
    val found = keys match {
      case PushableKeys.Keys(facts, _) => pruning.of(facts, filter.regardless)
      case PushableKeys.Bound(c, value, _) => pruning.bound(c, value, filter.regardless)
    }
    found
      .map(f => f.copy(predicate = KeyPredicates.orWithin(column, f.predicate, keys.anyway)))
      .toRight(Reason.nothingSkipped)
  }
}

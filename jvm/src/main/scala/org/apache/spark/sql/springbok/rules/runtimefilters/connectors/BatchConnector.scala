package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering
import org.apache.spark.sql.connector.write.RowLevelOperationTable
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.rules.runtimefilters.{PushableKeys, PushedFilter}
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/**
 * A scan of Spark's connector API. It is told in the first way that it allows: built again, which skips most, or filtering
 * itself when it starts. If its files lie by the very values of the column, its own filtering skips as much and costs less.
 */
private[connectors] object BatchConnector {
  def apply(b: BatchScanExec): ScanConnector =
    (rebuilt(b), b.scan) match {
      case (Some(r), _: SupportsRuntimeV2Filtering) => new Both(r, new OwnFiltering(b), b)
      case (Some(r), _) => r
      case (None, _: SupportsRuntimeV2Filtering) => new OwnFiltering(b)
      case _ => new RowsOnly(Reason.scanTakesNone(b.table.name))
    }

  private def rebuilt(b: BatchScanExec): Option[RebuiltScan] = b.table match {
    // Its commit replaces what this very scan has read.
    case _: RowLevelOperationTable => None
    case table => RebuildableTable.of(table).map(new RebuiltScan(b, _))
  }

  final private class Both(again: ScanConnector, own: ScanConnector, b: BatchScanExec) extends ScanConnector {
    override def skips(column: Attribute, stats: PlanStats): Double =
      math.max(again.skips(column, stats), own.skips(column, stats))

    override def push(
        column: Attribute,
        keys: PushableKeys,
        filter: ScanConnector.Filter
    ): Either[Reason, PushedFilter] = {
      val ways =
        if (PrunableColumns.identity(b.table, column)) Seq(own, again) else Seq(again, own)
      ways.head.push(column, keys, filter) match {
        case Left(why) => ways.last.push(column, keys, filter).left.map(_ => why)
        case pushed => pushed
      }
    }
  }
}

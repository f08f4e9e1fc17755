package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, Literal}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.SparkConnectors
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.keys.{KeyFacts, KeyPredicates}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.rules.runtimefilters.{PushableKeys, PushedFilter, PushWay}
import org.apache.spark.sql.springbok.stats.operator.PlanStats
import org.apache.spark.sql.types.StringType

/**
 * Scans that filter themselves when they start. Such a scan names the columns that it takes runtime filters on, as for
 * dynamic partition pruning. What it leaves out is up to the connector: whole files at most.
 *
 * '''Why the answer cannot change''': the connector promises it for dynamic partition pruning. The scan keeps the predicate
 * for as long as it lives and applies it for all of its readers, so it must have only one ([[PrunableColumns.readOnce]]). An
 * `UPDATE` that rewrites groups of rows reads what it changes and what it copies through one scan, and its commit replaces
 * what that scan has read.
 */
final private[connectors] class OwnFiltering(scan: BatchScanExec) extends ScanConnector {
  override def skips(column: Attribute, stats: PlanStats): Double =
    if (PrunableColumns.names(scan, column)) 1.0 else 0.0

  override def push(
      column: Attribute,
      keys: PushableKeys,
      filter: ScanConnector.Filter
  ): Either[Reason, PushedFilter] =
    for {
      _ <- Either.cond(PrunableColumns.names(scan, column), (), Reason.columnNotFiltered(scan.table.name))
      _ <- Either.cond(filter.alone, (), Reason.scanShared)
      _ <- compares(column)
      _ <- Either.cond(keys.areAscii, (), Reason.keysNotTaken)
      asked <- keys.predicate(column)(ofKeys(column, _, filter.conf)).toRight(Reason.keysNotTaken)
      taken <- SparkConnectors.runtimeFilter(asked._2).toRight(Reason.keysNotTaken)
    } yield PushedFilter(asked._1, asked._2, PushWay.OwnFiltering(taken))

  /** Iceberg's UUIDs are strings for Spark. A key that is none would fail the scan. */
  private def compares(column: Attribute): Either[Reason, Unit] = column.dataType match {
    case _: StringType if IcebergTable.is(scan.table) =>
      ScanRecipe
        .of(scan.scan)
        .toRight(Reason.scanUnknown)
        .flatMap(_.compares(IcebergTable, column, scan.scan.readSchema))
    case _ => Right(())
  }

  private def ofKeys(column: Attribute, k: KeyFacts, conf: SQLConf): Option[(String, Expression)] = {
    val predicates = new KeyPredicates(column, conf)
    val few = predicates.listed(k).filter(_.size <= conf.getConf(FilterConf.IN_LIMIT))
    // If there are no keys at all, the row test removes every row.
    predicates.exact(few).orElse(predicates.bounded(k)).filter(_._2 != Literal.FalseLiteral)
  }
}

package org.apache.spark.sql.springbok.rules.runtimefilters.resolve

import org.apache.spark.sql.catalyst.expressions.{Attribute, Literal}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.SparkConnectors
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.keys.{Comparison, KeyFacts, KeyPredicates}
import org.apache.spark.sql.springbok.rules.runtimefilters.{PrunableColumns, PushedFilter}

/**
 * What a connector's scan can leave out by the keys of a build side. Such a scan names the columns that it takes runtime
 * filters on, as for dynamic partition pruning. What it leaves out is up to the connector: whole files at most.
 *
 * The scan keeps the predicate for as long as it lives and applies it for all of its readers, so it must have only one
 * ([[PrunableColumns.readOnce]]). An `UPDATE` that rewrites groups of rows reads what it changes and what it copies through
 * one scan, and its commit replaces what that scan has read.
 */
private[springbok] object ConnectorPruning {

  def of(scan: BatchScanExec, column: Attribute, k: KeyFacts, conf: SQLConf): Option[PushedFilter] =
    if (!PrunableColumns.names(scan, column)) None
    else {
      val predicates = new KeyPredicates(column, conf)
      val few = predicates.listed(k).filter(_.size <= conf.getConf(FilterConf.IN_LIMIT))
      for {
        (kind, predicate) <- predicates.exact(few).orElse(predicates.bounded(k))
        // If there are no keys at all, the row test removes every row.
        if predicate != Literal.FalseLiteral
        taken <- SparkConnectors.runtimeFilter(predicate)
      } yield PushedFilter(kind, taken, partition = true, None)
    }

  /** The bound of a comparison, if the column's type can hold it. */
  def bound(scan: BatchScanExec, column: Attribute, c: Comparison, value: Any): Option[PushedFilter] =
    for {
      predicate <- KeyPredicates.bound(column, c, value) if PrunableColumns.names(scan, column)
      taken <- SparkConnectors.runtimeFilter(predicate)
    } yield PushedFilter(c.kind, taken, partition = true, None)
}

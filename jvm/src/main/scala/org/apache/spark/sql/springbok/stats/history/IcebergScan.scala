package org.apache.spark.sql.springbok.stats.history

import scala.util.Try

import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.springbok.catalyst.TableVersions

/** Scans of Iceberg's tables, by the name of their class: the jar does not depend on Iceberg. */
private[history] object IcebergScan {
  def is(s: DataSourceV2ScanRelation): Boolean =
    s.scan.getClass.getName == "org.apache.iceberg.spark.source.SparkBatchQueryScan"

  /** The snapshot that is read; None if it is not known. */
  def version(s: DataSourceV2ScanRelation): Option[String] =
    pinned(s.relation.table)
      .orElse(TableVersions.of(s.relation.table))
      .orElse(Option(s.relation.table.properties.get("current-snapshot-id")).filter(_ != "none"))

  /** The snapshot that the query asks for (`VERSION AS OF`), if it does. */
  private def pinned(t: Table): Option[String] =
    Try(Option(t.getClass.getMethod("snapshotId").invoke(t)).map(_.toString)).toOption.flatten
}

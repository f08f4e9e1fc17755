package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.{LocalScan, Scan}
import org.apache.spark.sql.types.StructField

/**
 * Tables whose connector says that their scans may be built again, by a property of the table: see
 * `docs/contribute/connectors.md`. It says so of the table object, which reads one version.
 */
private[connectors] object DeclaredTable extends RebuildableTable {
  val property = "springbok.scans.rebuildable"

  def is(table: Table): Boolean = Option(table.properties).exists(_.get(property) == "true")

  override def version(table: Table): TableVersion = TableVersion.OfTable

  override def allows(scan: Scan): Boolean = !scan.isInstanceOf[LocalScan]

  override def compares(
      table: Table,
      column: Attribute,
      field: StructField,
      takes: Expression => Boolean
  ): Boolean = true

  override val longestList: Int = 1024
}

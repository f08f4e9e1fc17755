package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.{LocalScan, Scan}
import org.apache.spark.sql.types.StructField
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * Tables whose scans may be built again while a query runs, to read less. Their connectors are known, or say themselves, to
 * keep this:
 *
 *   - Scans are equal only if they read the same rows. Spark relies on it too: it runs equal scans once.
 *   - A scan builder that is made for the same version reads the same rows, but for those that a predicate rules out.
 *   - Building a scan and planning its partitions changes nothing.
 */
private[runtimefilters] trait RebuildableTable {

  /** The version that the query reads, as far as the table tells by now. */
  def version(table: Table): TableVersion

  /** Whether a scan of the table is one that may be built again. */
  def allows(scan: Scan): Boolean

  /**
   * Whether the connector compares a column's values with literals as Spark does.
   *
   * @param field
   *   the column as the scan reads it
   * @param takes
   *   whether the connector takes a predicate
   */
  def compares(table: Table, column: Attribute, field: StructField, takes: Expression => Boolean): Boolean

  /** The largest list that the connector compares with what is known of a file. */
  def longestList: Int
}

private[runtimefilters] object RebuildableTable {
  private val all: Seq[(Table => Boolean, RebuildableTable)] = Seq(
    (IcebergTable.is(_), IcebergTable),
    (DeclaredTable.is(_), DeclaredTable)
  )

  def of(table: Table): Option[RebuildableTable] = all.collectFirst { case (is, known) if is(table) => known }
}

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

/** The version of a table that a query reads. */
sealed private[runtimefilters] trait TableVersion {

  /** The options of a scan that reads this version; None if there is no such scan. */
  def pinned(options: CaseInsensitiveStringMap): Option[CaseInsensitiveStringMap]
}

private[runtimefilters] object TableVersion {

  /** Every scan of the table object reads the same version. */
  case object OfTable extends TableVersion {
    override def pinned(options: CaseInsensitiveStringMap): Option[CaseInsensitiveStringMap] = Some(options)
  }

  /** A scan with this option reads the version. */
  final case class ByOption(name: String, value: String) extends TableVersion {
    override def pinned(options: CaseInsensitiveStringMap): Option[CaseInsensitiveStringMap] = {
      val map = new java.util.HashMap[String, String](options.asCaseSensitiveMap)
      map.put(name, value)
      Some(new CaseInsensitiveStringMap(map))
    }
  }

  case object Unknown extends TableVersion {
    override def pinned(options: CaseInsensitiveStringMap): Option[CaseInsensitiveStringMap] = None
  }
}

package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.catalyst.expressions.{Attribute, EqualTo, Expression, Literal}
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.springbok.catalyst.{SparkTypes, TableVersions}
import org.apache.spark.sql.types.{StringType, StructField, TimestampNTZType, TimestampType}

/**
 * Tables of Iceberg, by the names of its classes: it is not on the class path of this jar.
 *
 * '''Scans are equal''' if their tables, snapshots or branches, columns and predicates are. Scans of row-level operations are
 * of other classes, or of other tables (`RowLevelOperationTable`). So are scans of changes, and those whose aggregates are
 * pushed down. A limit that was pushed down is applied again by Spark.
 *
 * '''Delete files''' are found by the new scan as for any query with its conditions. A row's position counts the rows that are skipped.
 *
 * '''The version''': for Spark 4.1 on, a table object reads one snapshot and says so (`Table.version`). Before, a table object
 * follows its table. There the snapshot is pinned by an option, and it is known if the table has had it both before Spark
 * built the first scan and after. Iceberg refuses the option for tables that read another snapshot, or a branch.
 */
private[connectors] object IcebergTable extends RebuildableTable {

  /** Tables of metadata, such as `t.files`, have no format version. */
  def is(table: Table): Boolean =
    table.getClass.getName == tableClass && table.properties.containsKey("format-version")

  override def version(table: Table): TableVersion =
    if (TableVersions.of(table).isDefined) TableVersion.OfTable
    else
      Option(table.properties.get("current-snapshot-id"))
        .filter(_ != "none")
        .fold[TableVersion](TableVersion.Unknown)(TableVersion.ByOption("snapshot-id", _))

  override def allows(scan: Scan): Boolean = scan.getClass.getName == scanClass

  /**
   * UUIDs are strings for Spark, which sorts them otherwise; Iceberg takes no comparison of one with any other string. Some
   * releases of Iceberg skip rows that have a column's default because they are older than the column. Format 3 has defaults.
   * Of files that were added from Parquet tables with timestamps in ms, Iceberg takes the bounds for µs (apache/iceberg#18173).
   */
  override def compares(
      table: Table,
      column: Attribute,
      field: StructField,
      takes: Expression => Boolean
  ): Boolean = {
    def uuid = column.dataType match {
      case _: StringType => !takes(EqualTo(column, Literal.create("no UUID", column.dataType)))
      case _ => false
    }
    def oldFormat = Set("1", "2").contains(table.properties.get("format-version"))
    def defaulted = !SparkTypes.tellsDefaults || field.getExistenceDefaultValue().isDefined
    def timestamp = column.dataType == TimestampType || column.dataType == TimestampNTZType
    (oldFormat || !defaulted) && !timestamp && !uuid
  }

  /** Iceberg reads a file without looking at its bounds if a list is longer. */
  override val longestList: Int = 200

  private val tableClass = "org.apache.iceberg.spark.source.SparkTable"
  private val scanClass = "org.apache.iceberg.spark.source.SparkBatchQueryScan"
}

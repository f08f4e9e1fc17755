package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.execution.{FileSourceScanExec, RowDataSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.TableCacheQueryStageExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.jdbc.JDBCRelation
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.sources.BaseRelation

/** The name of a table in the catalog, the last part of its path, or its name in a database. */
private[springbok] object TableName {
  def apply(id: Option[TableIdentifier], relation: BaseRelation): Option[String] =
    id.map(_.table)
      .orElse(relation match {
        case fs: HadoopFsRelation => fs.location.rootPaths.headOption.map(_.getName.stripSuffix(".parquet"))
        // A query in the table's place may hold values.
        case j: JDBCRelation => Some(j.jdbcOptions.tableOrQuery).filterNot(_.trim.startsWith("("))
        case _ => None
      })

  /** The name of the table that an operator scans, or a word for its input. */
  def of(scan: SparkPlan): String = scan match {
    case s: FileSourceScanExec => apply(s.tableIdentifier, s.relation).getOrElse("files")
    case b: BatchScanExec => b.table.name
    case m: InMemoryTableScanExec => m.relation.cacheBuilder.tableName.getOrElse("cached table")
    case t: TableCacheQueryStageExec => of(t.inMemoryTableScan)
    case r: RowDataSourceScanExec => apply(r.tableIdentifier, r.relation).getOrElse("external table")
    case HiveScan(table) => table.tableMeta.identifier.table
    case _ => "rows"
  }
}

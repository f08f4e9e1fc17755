package org.apache.spark.sql.springbok.rules.runtimefilters

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.RowDataSourceScanExec
import org.apache.spark.sql.execution.datasources.DataSourceStrategy
import org.apache.spark.sql.execution.datasources.jdbc.{JDBCOptions, JDBCRelation}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, V1ScanWrapper}
import org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCScan
import org.apache.spark.sql.sources.{BaseRelation, Filter, TableScan}

/** A table of a database, as Spark reads it through JDBC. */
sealed private[runtimefilters] trait RemoteTable {
  def options: JDBCOptions

  /** The rows that a scan gets if the query that the database gets has these conditions more. */
  def rows(scan: RowDataSourceScanExec, conditions: Set[Filter]): RDD[InternalRow]
}

private[runtimefilters] object RemoteTable {

  /** The table of a scan, None if it is none, or if the database computes more than rows: aggregates, limits, samples. */
  def of(scan: RowDataSourceScanExec): Option[RemoteTable] = scan.relation match {
    case r: JDBCRelation => Some(Relation(r))
    case _ =>
      planned(scan).collect { case s @ JDBCScan(_, _, _, Array(), None, None, 0, Array(), 0) => OfCatalog(s) }
  }

  /** What Spark has planned to read, which the operator does not hold. */
  private def planned(scan: RowDataSourceScanExec): Option[JDBCScan] =
    scan.logicalLink.toSeq.flatMap(_.collectLeaves()) match {
      case Seq(r: DataSourceV2ScanRelation) =>
        r.scan match {
          case V1ScanWrapper(s: JDBCScan, _, _) => Some(s)
          case _ => None
        }
      case _ => None
    }

  /** Read by `spark.read.jdbc`, `format("jdbc")` or `USING jdbc`. */
  final private case class Relation(table: JDBCRelation) extends RemoteTable {
    override def options: JDBCOptions = table.jdbcOptions

    /** Its rows are Catalyst's (`needConversion` is false). */
    override def rows(scan: RowDataSourceScanExec, conditions: Set[Filter]): RDD[InternalRow] =
      table.buildScan(scan.requiredSchema.fieldNames, conditions.toArray).asInstanceOf[RDD[InternalRow]]
  }

  /** A table of a catalog. Its scan has the conditions of the query in itself, and the operator has none. */
  final private case class OfCatalog(planned: JDBCScan) extends RemoteTable {
    override def options: JDBCOptions = planned.relation.jdbcOptions

    override def rows(scan: RowDataSourceScanExec, conditions: Set[Filter]): RDD[InternalRow] = {
      val asked = planned.copy(pushedPredicates = planned.pushedPredicates ++ conditions.map(_.toV2))
      val table =
        asked.toV1TableScan[BaseRelation with TableScan](planned.relation.sparkSession.sqlContext)
      DataSourceStrategy.toCatalystRDD(table, scan.output, table.buildScan())
    }
  }
}

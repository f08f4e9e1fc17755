package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.{Scan, SupportsRuntimeV2Filtering}
import org.apache.spark.sql.connector.write.RowLevelOperationTable
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.execution.springbok.RuntimeFilterExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.stats.source.FolderColumns

/** The columns by which a scan can skip whole files. */
private[springbok] object PrunableColumns {

  /** Whether the files of the scan lie in folders by this column. */
  def partitions(scan: FileSourceScanExec, column: Attribute, conf: SQLConf): Boolean =
    FolderColumns.of(scan.relation).exists(conf.resolver(_, column.name))

  /** Whether a connector's scan takes runtime filters on this column. */
  def names(scan: BatchScanExec, column: Attribute): Boolean = scan.scan match {
    case s: SupportsRuntimeV2Filtering =>
      // Compared by name, because the scan may name columns that this query does not read.
      s.filterAttributes().exists(r => isColumn(r.fieldNames.toSeq, column))
    case _ => false
  }

  /** Whether the table's files lie in partitions by the very values of the column. */
  def identity(table: Table, column: Attribute): Boolean =
    table
      .partitioning()
      .exists(t => t.name == "identity" && t.references.exists(r => isColumn(r.fieldNames.toSeq, column)))

  private def isColumn(names: Seq[String], column: Attribute): Boolean =
    names.size == 1 && SQLConf.get.resolver(names.head, column.name)

  /**
   * The scan objects that nothing else in the query reads through, and that read nothing which the query writes. Subqueries and
   * finished stages count as well. Any other scan would apply a filter for all of its readers, because it keeps the filter for
   * as long as it lives.
   */
  def readOnce(query: SparkPlan): BatchScanExec => Boolean = {
    val readers = new IdentityHashMap[Scan, Int]()
    scans(query).foreach(s => readers.merge(s.scan, 1, _ + _): Unit)
    scan => !scan.table.isInstanceOf[RowLevelOperationTable] && readers.getOrDefault(scan.scan, 0) <= 1
  }

  private def scans(p: SparkPlan): Seq[BatchScanExec] = p match {
    case b: BatchScanExec => Seq(b)
    case q: QueryStageExec => scans(q.plan)
    case a: AdaptiveSparkPlanExec => scans(a.executedPlan)
    case _: ReusedExchangeExec => Nil
    // Its second child also stands under a join.
    case f: RuntimeFilterExec => scans(f.child)
    case _ => (p.children ++ p.subqueries).flatMap(scans)
  }
}

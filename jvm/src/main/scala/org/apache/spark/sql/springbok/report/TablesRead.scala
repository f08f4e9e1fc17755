package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions.ExprId
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/** The tables of a query, once for each time that it reads them. A table's id is its position. */
final private[report] class TablesRead(optimized: LogicalPlan) {
  val all: Seq[LogicalPlan] = optimized.collectWithSubqueries {
    case t @ (_: LogicalRelation | _: DataSourceV2ScanRelation | _: HiveTableRelation |
        _: InMemoryRelation) =>
      t
  }

  /** The table and the name of each column. Copies of a scan have its columns, and count as it. */
  private val columns: Map[ExprId, (Int, String)] =
    all.zipWithIndex.reverse.flatMap { case (t, i) => t.output.map(a => a.exprId -> (i -> a.name)) }.toMap

  /** The table of a column, and the column's name there. */
  def column(id: ExprId): Option[(Int, String)] = columns.get(id)

  def id(table: LogicalPlan): Option[Int] =
    table.output.iterator.flatMap(a => column(a.exprId)).map(_._1).nextOption().orElse {
      Some(all.indexWhere(_ eq table)).filter(_ >= 0)
    }
}

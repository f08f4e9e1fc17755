package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogTableType, HiveTableRelation}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.util.quoteIfNeeded
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.CatalogManager
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.springbok.catalyst.CurrentDatabase
import org.apache.spark.sql.types._

/** The statement that collects the statistics which a query lacks of a table. */
private[springbok] object AnalyzeTable {

  /** A table of Spark's session catalog. Only such tables can be analyzed. */
  object Catalogued {
    def unapply(p: LogicalPlan): Option[(TableIdentifier, LogicalPlan)] = (p match {
      case r: LogicalRelation => r.catalogTable
      case h: HiveTableRelation => Some(h.tableMeta)
      case _ => None
    }).filter(t => t.tableType != CatalogTableType.VIEW && t.identifier.database.isDefined)
      .map(t => t.identifier -> p)
  }

  /** None if nothing is missing that Spark can collect. */
  def apply(
      id: TableIdentifier,
      columns: Seq[Attribute],
      rowsUnknown: Boolean,
      session: SparkSession
  ): Option[String] = {
    val names = columns.filter(a => countable(a.dataType)).map(_.name).distinct
    val forColumns = if (names.isEmpty) "" else names.map(quoteIfNeeded).mkString(" FOR COLUMNS ", ", ", "")
    Option.when(rowsUnknown || names.nonEmpty)(
      s"ANALYZE TABLE ${name(id, session)} COMPUTE STATISTICS$forColumns"
    )
  }

  /**
   * As SQL takes it. The catalog is named only where another one is current. A session of a stopped context is never
   * active, but reports are still made of it.
   */
  def name(id: TableIdentifier, session: SparkSession): String = {
    val elsewhere = !CurrentDatabase.inSessionCatalog(session)
    val catalog = Option.when(elsewhere)(CatalogManager.SESSION_CATALOG_NAME)
    (catalog ++ id.database ++ Seq(id.table)).map(quoteIfNeeded).mkString(".")
  }

  /** The types that `AnalyzeColumnCommand` takes. */
  private def countable(t: DataType): Boolean = t match {
    case _: CharType | _: VarcharType => false
    case _: IntegralType | _: DecimalType | DoubleType | FloatType | BooleanType => true
    case _: DatetimeType | BinaryType | _: StringType => true
    case _ => false
  }
}

package org.apache.spark.sql.springbok.catalyst

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.util.quoteIfNeeded
import org.apache.spark.sql.connector.catalog.{CatalogManager, CatalogPlugin, Identifier}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{
  DataSourceV2Relation,
  DataSourceV2ScanRelation,
  FileTable => FileTableV2
}
import org.apache.spark.sql.sources.{BaseRelation, DataSourceRegister}

/**
 * A table that a plan reads or writes, by its full name: `catalog.database.table`, or the format and the path of files without
 * a name, as in a query: parquet.`/data/orders`.
 */
private[springbok] object BaseTable {
  def unapply(p: LogicalPlan): Option[String] = p match {
    case r: LogicalRelation => Some(r.catalogTable.fold(unnamed(r.relation))(t => name(t.identifier)))
    case h: HiveTableRelation => Some(name(h.tableMeta.identifier))
    case r: DataSourceV2Relation => Some(catalogued(r).getOrElse(r.table.name))
    case s: DataSourceV2ScanRelation => unapply(s.relation)
    case _ => None
  }

  def name(id: TableIdentifier): String = {
    val database = id.database.toSeq
    val catalog = id.catalog.orElse(Option.when(database.nonEmpty)(CatalogManager.SESSION_CATALOG_NAME))
    quoted(catalog.toSeq ++ database :+ id.table)
  }

  def name(catalog: CatalogPlugin, id: Identifier): String =
    quoted((catalog.name +: id.namespace.toSeq) :+ id.name)

  /** The name in a connector's catalog. */
  def catalogued(r: DataSourceV2Relation): Option[String] =
    for (catalog <- r.catalog; id <- r.identifier) yield name(catalog, id)

  /** The column of a table. */
  def column(table: String, name: String): String = s"$table.${quoteIfNeeded(name)}"

  /** A path without the user and password that it may hold. */
  def path(p: String): String = p.replaceFirst("://[^/@:]*:[^/@]*@", "://")

  def path(p: Path): String = path(p.toString)

  /** The path of a table of files that a connector reads. */
  def pathOf(r: DataSourceV2Relation): Option[String] = r.table match {
    case f: FileTableV2 => f.fileIndex.rootPaths.headOption.map(path(_))
    case _ => None
  }

  /** The name of a format in queries. */
  def format(source: Any): String = source match {
    case r: DataSourceRegister => r.shortName()
    case other => other.getClass.getSimpleName.stripSuffix("$")
  }

  private def unnamed(r: BaseRelation): String = r match {
    case fs: HadoopFsRelation =>
      val paths = fs.location.rootPaths
      val more = if (paths.size > 1) s" and ${paths.size - 1} more" else ""
      s"${format(fs.fileFormat)}.${quoteIfNeeded(paths.headOption.fold("")(path(_)) + more)}"
    case other => quoted(format(other) +: TableName(None, other).toSeq)
  }

  private def quoted(parts: Seq[String]): String = parts.map(quoteIfNeeded).mkString(".")
}

package org.apache.spark.sql.springbok.catalyst

import java.util.IdentityHashMap

import scala.util.Try

import org.apache.hadoop.fs.Path
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.{InternalRow, TableIdentifier}
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions.{Attribute, DynamicPruningSubquery, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.trees.TreePattern.{DYNAMIC_PRUNING_SUBQUERY, LOGICAL_QUERY_STAGE}
import org.apache.spark.sql.catalyst.util.quoteIfNeeded
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.{CatalogManager, CatalogPlugin, Identifier}
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.{FileSourceScanExec, LeafExecNode, RowDataSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage, TableCacheQueryStageExec}
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.jdbc.JDBCRelation
import org.apache.spark.sql.execution.datasources.v2.{
  BatchScanExec,
  DataSourceV2Relation,
  DataSourceV2ScanRelation,
  FileTable => FileTableV2
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.{BaseRelation, DataSourceRegister, Filter}
import org.apache.spark.util.collection.BitSet

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

/** A table of files: the logical node, and what it reads. */
object FileTable {
  def unapply(p: LogicalPlan): Option[(LogicalRelation, HadoopFsRelation)] = p match {
    case r: LogicalRelation =>
      r.relation match {
        case fs: HadoopFsRelation => Some((r, fs))
        case _ => None
      }
    case _ => None
  }

  /** Whether each file of the table has one value of the column. */
  def isPartitionedBy(fs: HadoopFsRelation, column: Attribute): Boolean =
    fs.partitionSchema.exists(c => SQLConf.get.resolver(c.name, column.name))
}

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

/**
 * A scan of a Hive table by Hive's own readers: text and other serdes, and Parquet and ORC if Spark does not convert them.
 *
 * Its operator belongs to Spark's Hive module, which an application may lack and the jar does not depend on. It is
 * recognized by the table that it was made for, which is a class of Catalyst. No other leaf is made for such a table.
 */
object HiveScan {
  def unapply(p: SparkPlan): Option[HiveTableRelation] = p match {
    case leaf: LeafExecNode => leaf.productIterator.collectFirst { case r: HiveTableRelation => r }
    case _ => None
  }

  /**
   * Whether the rows are those of the table's files, and not those of another system that a storage handler asks. The scan
   * lists its files once, so a task that runs again reads the same ones.
   */
  def ofFiles(table: HiveTableRelation): Boolean =
    !table.tableMeta.unsupportedFeatures.contains("storage handler")
}

/** The name of a relation of a join: the tables in it. */
private[springbok] object RelationName {
  def apply(p: LogicalPlan): String = {
    val tables = p.collect { case FileTable(r, fs) =>
      TableName(r.catalogTable.map(_.identifier), fs)
    }
    if (tables.isEmpty) p.nodeName else tables.map(_.getOrElse("?")).mkString("+")
  }
}

/**
 * Which of some logical plans compute the same rows. Canonical forms are expensive and are made on demand, only of plans with
 * equal leaves. A stage stands for the plan that it was made from.
 */
final private[springbok] class EqualPlans[P <: LogicalPlan](plans: => Seq[P]) {
  private lazy val byLeaves = plans.groupBy(EqualPlans.leaves)
  private val canonical = new IdentityHashMap[LogicalPlan, LogicalPlan]()

  /** Those that read what this plan reads. */
  def alike(plan: LogicalPlan): Seq[P] = byLeaves.getOrElse(EqualPlans.leaves(plan), Nil)

  /** Those that are equal to this plan, which may be one of them. */
  def of(plan: LogicalPlan): Seq[P] = alike(plan) match {
    case Seq(only) if only eq plan => Seq(only)
    case all => all.filter(canonicalOf(_) == canonicalOf(plan))
  }

  private def canonicalOf(plan: LogicalPlan): LogicalPlan = canonical.computeIfAbsent(
    plan,
    _.transformUp { case s: LogicalQueryStage => s.logicalPlan }.canonicalized
  )
}

private object EqualPlans {

  /** Kinds of leaves with the names of their columns: cheap, the same for equal plans, and different for most others. */
  def leaves(plan: LogicalPlan): Seq[Seq[String]] = plan.collectLeaves().flatMap {
    case s: LogicalQueryStage => leaves(s.logicalPlan)
    case leaf => Seq(leaf.getClass.getName +: leaf.output.map(_.name))
  }
}

/** Spark's subqueries that prune partitions at run time. */
private[springbok] object PruningSubqueries {
  def of(plan: LogicalPlan): Seq[DynamicPruningSubquery] =
    if (!plan.containsPattern(DYNAMIC_PRUNING_SUBQUERY)) Nil
    else plan.flatMap(_.expressions.flatMap(_.collect { case d: DynamicPruningSubquery => d }))

  /** Those in the stages of a plan as well. */
  def withStages(plan: LogicalPlan): Seq[DynamicPruningSubquery] =
    if (!plan.containsPattern(LOGICAL_QUERY_STAGE)) of(plan)
    else of(plan) ++ plan.collect { case s: LogicalQueryStage => withStages(s.logicalPlan) }.flatten
}

/** Where a session looks up names without a database. */
private[springbok] object CurrentDatabase {

  /** Whether that is Spark's own catalog. */
  def inSessionCatalog(session: SparkSession): Boolean =
    session.sessionState.catalogManager.currentCatalog.name == CatalogManager.SESSION_CATALOG_NAME

  /** The database, with its catalog if that is not Spark's own; None if the catalog fails. */
  def name(session: SparkSession): Option[String] = Try {
    val manager = session.sessionState.catalogManager
    val catalog = Option.unless(inSessionCatalog(session))(manager.currentCatalog.name)
    (catalog ++ manager.currentNamespace).map(quoteIfNeeded).mkString(".")
  }.toOption
}

/** Copies of scans: each line compiles its own, because the parameters of `copy` differ. */
object ScanCopies {

  /** The scan with other filters. */
  def withFilters(
      scan: FileSourceScanExec,
      dataFilters: Seq[Expression],
      partitionFilters: Seq[Expression]
  ): FileSourceScanExec =
    tagged(scan, scan.copy(dataFilters = dataFilters, partitionFilters = partitionFilters))

  /** The scan whose reader gets one more option. */
  def withOption(scan: FileSourceScanExec, key: String, value: String): FileSourceScanExec = {
    val r = scan.relation
    tagged(scan, scan.copy(relation = r.copy(options = r.options + (key -> value))(r.sparkSession)))
  }

  /** The scan of only these buckets. */
  def withBuckets(scan: FileSourceScanExec, buckets: BitSet): FileSourceScanExec =
    tagged(scan, scan.copy(optionalBucketSet = Some(buckets)))

  /** The scan with one more predicate to hand to the connector when it starts. */
  def withRuntimeFilter(scan: BatchScanExec, predicate: Expression): BatchScanExec =
    tagged(scan, scan.copy(runtimeFilters = scan.runtimeFilters :+ predicate))

  /** The same of another scan that the connector has built. */
  def withScan(scan: BatchScanExec, built: Scan): BatchScanExec = tagged(scan, scan.copy(scan = built))

  /** The scan with other conditions, and the rows that it has under them. */
  def withConditions(
      scan: RowDataSourceScanExec,
      conditions: Set[Filter],
      rows: RDD[InternalRow]
  ): RowDataSourceScanExec = tagged(scan, scan.copy(filters = conditions, rdd = rows))

  private def tagged[T <: SparkPlan](scan: T, copy: T): T = {
    copy.copyTagsFrom(scan)
    copy
  }
}

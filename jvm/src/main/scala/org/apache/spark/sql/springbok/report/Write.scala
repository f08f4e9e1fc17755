package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.SaveMode
import org.apache.spark.sql.catalyst.analysis.{NamedRelation, ResolvedIdentifier}
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.expressions.Literal.TrueLiteral
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.connector.catalog.TableCatalog
import org.apache.spark.sql.execution.command.{
  CreateDataSourceTableAsSelectCommand,
  DataWritingCommand,
  RunnableCommand
}
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.springbok.catalyst.{BaseTable, DeltaChange, DeltaMerge, FileTable}
import org.apache.spark.sql.springbok.report.model.SinkEntry
import org.apache.spark.sql.types.DataType

/** A column that is written, and the expressions that give it its values. */
final private[report] case class WrittenColumn(name: String, dataType: DataType, values: Seq[Expression])

/**
 * What an analyzed statement writes, and where.
 *
 * @param reads
 *   the plans that give the rows
 * @param conditions
 *   conditions on rows that the plans do not have
 */
final private[report] case class Write(
    sink: SinkEntry,
    columns: Seq[WrittenColumn],
    reads: Seq[LogicalPlan],
    conditions: Seq[Expression] = Nil
)

private[report] object Write {

  /** None for a statement that writes no rows, and for one that is not known here. */
  def of(p: LogicalPlan): Option[Write] = p match {
    case i: InsertIntoHadoopFsRelationCommand => Some(ofFiles(i))
    case c: CreateDataSourceTableAsSelectCommand => Some(of(c))
    case s: SaveIntoDataSourceCommand => Some(of(s))
    case i: InsertIntoDataSourceCommand =>
      val BaseTable(table) = i.logicalRelation: @unchecked
      val target = SinkEntry(
        replaces(i.overwrite),
        table = Some(table),
        format = Some(BaseTable.format(i.logicalRelation.relation))
      )
      Some(positional(target, i.logicalRelation.output.map(_.name), i.query))
    case w: V2WriteCommand => ofConnector(w)
    case c: V2CreateTableAsSelectPlan => Some(of(c))
    case DeltaMerge(parts) => Some(of(parts))
    case DeltaChange(parts) => Some(of(parts))
    case OfHive(write) => Some(write)
    case _ => None
  }

  private def ofFiles(i: InsertIntoHadoopFsRelationCommand): Write = {
    val part = i.dynamicPartitionOverwrite || i.staticPartitions.nonEmpty
    val target = SinkEntry(
      if (i.mode == SaveMode.Overwrite && part) overwritePart else saved(i.mode),
      i.catalogTable.map(t => BaseTable.name(t.identifier)),
      Some(BaseTable.path(i.outputPath)),
      Some(BaseTable.format(i.fileFormat)),
      i.partitionColumns.map(_.name)
    )
    positional(target, i.outputColumnNames, i.query)
  }

  private def of(c: CreateDataSourceTableAsSelectCommand): Write = {
    val mode = if (c.mode == SaveMode.Overwrite) "create or replace" else saved(c.mode)
    positional(ofTable(c.table, mode), c.outputColumnNames, c.query)
  }

  private def ofTable(t: CatalogTable, mode: String): SinkEntry = SinkEntry(
    mode,
    Some(BaseTable.name(t.identifier)),
    t.storage.locationUri.map(u => BaseTable.path(u.toString)),
    t.provider,
    t.partitionColumnNames
  )

  private def of(s: SaveIntoDataSourceCommand): Write = {
    val target = SinkEntry(
      saved(s.mode),
      s.options.get("dbtable"),
      s.options.get("path").map(BaseTable.path),
      Some(BaseTable.format(s.dataSource))
    )
    positional(target, s.query.output.map(_.name), s.query)
  }

  private def ofConnector(w: V2WriteCommand): Option[Write] = relation(w).map { r =>
    val mode = w match {
      case l: RowLevelWrite => l.operation.command().toString.toLowerCase(java.util.Locale.ROOT)
      case o: OverwriteByExpression if o.deleteExpr == TrueLiteral => "overwrite"
      case _: OverwriteByExpression | _: OverwritePartitionsDynamic => overwritePart
      case _ => "append"
    }
    val target = SinkEntry(
      mode,
      BaseTable.catalogued(r),
      BaseTable.pathOf(r),
      Option(r.table.properties.get(TableCatalog.PROP_PROVIDER)),
      r.table.partitioning.toSeq.map(_.describe())
    )
    w match {
      // The query gives columns of the connector's own as well.
      case _: RowLevelWrite => named(target, r, w.query)
      case _ => positional(target, r.output.map(_.name), w.query)
    }
  }

  private def relation(w: V2WriteCommand): Option[DataSourceV2Relation] = {
    val table: NamedRelation = w match {
      case l: RowLevelWrite => l.originalTable
      case _ => w.table
    }
    table match {
      case d: DataSourceV2Relation => Some(d)
      case _ => None
    }
  }

  private def of(c: V2CreateTableAsSelectPlan): Write = {
    val (mode, provider) = c match {
      case r: ReplaceTableAsSelect =>
        (if (r.orCreate) "create or replace" else "replace", r.tableSpec.provider)
      case n: CreateTableAsSelect =>
        (if (n.ignoreIfExists) "create if absent" else "create", n.tableSpec.provider)
      case _ => ("create", None)
    }
    val table = c.name match {
      case r: ResolvedIdentifier => BaseTable.name(r.catalog, r.identifier)
      case _ => c.tableName.toString
    }
    val target =
      SinkEntry(mode, Some(table), format = provider, partitionColumns = c.partitioning.map(_.describe()))
    positional(target, c.query.output.map(_.name), c.query)
  }

  private def of(m: DeltaMerge.Parts): Write = {
    val values = m.assigned.groupMap(_._1)(_._2)
    val columns = m.target.output.map(a => changed(a, values.getOrElse(a.name, Nil)))
    Write(ofDelta("merge", m.target, m.table), columns, Seq(m.source, m.target), m.conditions)
  }

  private def of(c: DeltaChange.Parts): Write = {
    val values = if (c.values.size == c.target.output.size) c.values.map(Seq(_)) else Nil
    val columns = c.target.output.zipAll(values, null, Nil).map { case (a, v) => changed(a, v) }
    Write(ofDelta(c.mode, c.target, c.table), columns, Seq(c.target), c.condition.toSeq)
  }

  /** A column that a statement leaves as it is gets its own value, and has no source. */
  private def changed(column: Attribute, values: Seq[Expression]): WrittenColumn =
    WrittenColumn(column.name, column.dataType, values.filterNot(column.semanticEquals))

  private def ofDelta(mode: String, target: LogicalPlan, table: Option[CatalogTable]): SinkEntry = SinkEntry(
    mode,
    table
      .map(t => BaseTable.name(t.identifier))
      .orElse(target.collectFirst { case BaseTable(name) => name }),
    format = Some("delta"),
    // The catalog does not know them.
    partitionColumns =
      target.collectFirst { case FileTable(_, fs) => fs.partitionSchema.fieldNames.toSeq }.getOrElse(Nil)
  )

  /** Columns of a query that become those of the target in their order. */
  private def positional(target: SinkEntry, names: Seq[String], query: LogicalPlan): Write = {
    val own = if (names.size == query.output.size) names else query.output.map(_.name)
    Write(
      target,
      own.zip(query.output).map { case (n, a) => WrittenColumn(n, a.dataType, Seq(a)) },
      Seq(query)
    )
  }

  private def named(target: SinkEntry, table: DataSourceV2Relation, query: LogicalPlan): Write = {
    val columns = table.output.map { c =>
      WrittenColumn(c.name, c.dataType, query.output.find(_.name.equalsIgnoreCase(c.name)).toSeq)
    }
    Write(target, columns, Seq(query))
  }

  private val overwritePart = "overwrite part"

  private def replaces(overwrite: Boolean): String = if (overwrite) "overwrite" else "append"

  private def saved(mode: SaveMode): String = mode match {
    case SaveMode.Append => "append"
    case SaveMode.Overwrite => "overwrite"
    case SaveMode.ErrorIfExists => "create"
    case SaveMode.Ignore => "create if absent"
  }

  /**
   * A statement that writes a Hive table. Its command belongs to Spark's Hive module, which an application may lack: it is
   * recognized by its table, and its first boolean says whether it overwrites.
   */
  private object OfHive {
    def unapply(p: LogicalPlan): Option[Write] = p match {
      case w: DataWritingCommand =>
        table(p).map(ofTable(_, replaces(overwrites(p)))).map(positional(_, w.outputColumnNames, w.query))
      case r: RunnableCommand =>
        for (t <- table(p); mode <- p.productIterator.collectFirst { case m: SaveMode => m }; q <- query(r))
          yield positional(ofTable(t, saved(mode)), q.output.map(_.name), q)
      case _ => None
    }

    private def table(p: LogicalPlan): Option[CatalogTable] =
      p.productIterator.collectFirst { case t: CatalogTable => t }

    private def overwrites(p: LogicalPlan): Boolean =
      p.productIterator.collectFirst { case b: Boolean => b }.getOrElse(false)

    private def query(p: LogicalPlan): Option[LogicalPlan] =
      p.productIterator.collectFirst { case q: LogicalPlan => q }
  }
}

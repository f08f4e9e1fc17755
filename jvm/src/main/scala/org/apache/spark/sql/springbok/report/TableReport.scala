package org.apache.spark.sql.springbok.report

import scala.util.Try

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, ExprId}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.expressions.{Literal, Transform}
import org.apache.spark.sql.connector.read.{Scan, SupportsReportPartitioning}
import org.apache.spark.sql.execution.{FileSourceScanExec, LeafExecNode, RowDataSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2ScanRelation, V1ScanWrapper}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{BaseTable, FileTable, TableName}
import org.apache.spark.sql.springbok.conf.ReportConf
import org.apache.spark.sql.springbok.report.model.{BucketingEntry, SlotEntry, TableEntry, TransformEntry}
import org.apache.spark.sql.springbok.stats.source.{PartitionListing, TableFooters}

/** The tables that a query reads, once for each scan: size, statistics, columns, and what was read of them. */
final private[springbok] class TableReport(
    optimized: LogicalPlan,
    read: TablesRead,
    graph: PlanGraph,
    numbers: PlanNumbers,
    session: SparkSession
) {
  private val scans = graph.nodes.filter(_.plan.isInstanceOf[LeafExecNode])
  private lazy val conditions = new ScanFilters.Of(optimized)

  /** Ids of the runtime filters on each scan, by the number of its node. */
  private lazy val runtimeFilters: Map[Int, Seq[String]] = graph.nodes
    .flatMap(n => FragmentReport.filter(n.plan).map(graph.source(n).id -> _.id))
    .groupMap(_._1)(_._2)

  private def scanOf(r: LogicalPlan): Option[PlanNode] =
    scans
      .find(n => n.plan.output.exists(r.outputSet.contains))
      .orElse(r match {
        // It reads no column.
        case FileTable(_, fs) =>
          scans.find(_.plan match {
            case s: FileSourceScanExec => s.output.isEmpty && (s.relation eq fs)
            case _ => false
          })
        case _ => None
      })

  /** Columns that joins compare. Their number of distinct values matters. */
  private val joined = AttributeSet(
    optimized.collectWithSubqueries { case j: Join => j }.flatMap(_.condition).flatMap(_.references)
  )

  /** What has to be analyzed, by table. A table that is read twice is analyzed once. */
  private lazy val statements: Map[TableIdentifier, String] = optimized
    .collectWithSubqueries { case AnalyzeTable.Catalogued(id, r) => (id, uncounted(r), rowsUnknown(r)) }
    .groupBy { case (id, _, _) => id }
    .flatMap { case (id, reads) =>
      AnalyzeTable(id, reads.flatMap(_._2), reads.exists(_._3), session).map(id -> _)
    }

  private def rowsUnknown(r: LogicalPlan): Boolean = numbers.statistics(r).rows.isEmpty

  /** As in Impala's warning: the join columns that would have to be counted for the costs to be known. */
  private def uncounted(r: LogicalPlan): Seq[Attribute] = {
    val known = numbers.statistics(r)
    r.output.filter(a => joined.contains(a) && known.distinct(a).isEmpty)
  }

  def entries: Seq[TableEntry] = read.all.zipWithIndex.map { case (t, id) =>
    StoredLayout.of(t, entry(t).copy(id = id), session)
  }

  /** Those of which something is not known that a join asks for. */
  def incomplete: Seq[TableEntry] = read.all.filter(t => rowsUnknown(t) || uncounted(t).nonEmpty).map(entry)

  private def entry(t: LogicalPlan): TableEntry = t match {
    case FileTable(r, fs) => files(r, fs)
    case r: LogicalRelation =>
      other(r, TableName(r.catalogTable.map(_.identifier), r.relation), r.relation.getClass.getSimpleName)
    case r: DataSourceV2ScanRelation => ofConnector(r)
    case r: HiveTableRelation => other(r, Some(r.tableMeta.identifier.table), "hive")
    case r: InMemoryRelation => other(r, r.cacheBuilder.tableName, "cached")
    case r => other(r, None, r.nodeName)
  }

  private def ofConnector(r: DataSourceV2ScanRelation): TableEntry = {
    val scan = scanOf(r).map(_.plan)
    other(r, Some(r.relation.table.name), formatOf(r.scan))
      .copy(
        scan = description(r, scan),
        filesRead = counted(scan, icebergFiles),
        rowsRead = counted(scan, "numOutputRows")
      )
  }

  /**
   * What a connector says of its scan. Such a text is made by other people's code. It has the literals of conditions, and it may
   * have the keys of runtime filters that the scan has been given.
   */
  private def description(r: DataSourceV2ScanRelation, scan: Option[SparkPlan]): Option[String] = {
    val filtersItself = scan.exists {
      case b: BatchScanExec => numbers.ran && b.runtimeFilters.nonEmpty
      case _ => false
    }
    if (filtersItself || !SQLConf.get.getConf(ReportConf.LITERALS)) None
    else
      Try(r.scan.description).toOption
        .filter(d => d != null && d.nonEmpty && d != r.scan.getClass.toString)
        .map(d => Shown.plain(BaseTable.path(d), TableReport.mostCharacters))
  }

  /** What a scan has counted; None if there is no such scan, or it has not run. */
  private def counted(scan: Option[SparkPlan], metric: String): Option[Long] =
    scan.filter(_ => numbers.ran).flatMap(PlanNumbers.metric(_, metric))

  /** The metric in which Iceberg counts the data files of a scan. */
  private val icebergFiles = "resultDataFiles"

  private def formatOf(scan: Scan): String = scan match {
    case V1ScanWrapper(s, _, _) => s.getClass.getSimpleName
    case s => s.getClass.getSimpleName
  }

  private def files(r: LogicalRelation, fs: HadoopFsRelation): TableEntry = {
    val scan = scanOf(r).map(_.plan)
    val footers: Option[TableFooters] = numbers.footers(fs)
    val all =
      if (fs.partitionSchema.isEmpty) None
      else PartitionListing.of(fs.location).map(_.partitionSpec().partitions.size.toLong)
    val name = TableName(r.catalogTable.map(_.identifier), fs)
    entry(r, name, fs.fileFormat.toString, fs.sizeInBytes, scan.map(_.output).getOrElse(r.output))
      .copy(
        files = footers.map(_.files.toLong),
        footersRead = footers.map(_.filesRead.toLong),
        partitions = all,
        partitionsRead = if (fs.partitionSchema.isEmpty) None else counted(scan, "numPartitions"),
        filesRead = scan.filter(_ => numbers.ran).flatMap(numbers.filesRead),
        bytesRead = counted(scan, "filesSize"),
        rowsRead = counted(scan, "numOutputRows")
      )
  }

  private def other(r: LogicalPlan, name: Option[String], format: String): TableEntry =
    entry(r, name, format, r.stats.sizeInBytes, r.output)

  private def entry(
      r: LogicalPlan,
      name: Option[String],
      format: String,
      bytes: BigInt,
      slots: Seq[Attribute]
  ): TableEntry = {
    val known = numbers.statistics(r)
    val scan = scanOf(r)
    TableEntry(
      id = 0,
      name = name,
      qualifiedName = None,
      source = "other",
      format = format,
      rows = known.rows.map(_.value),
      rowsSource = known.rows.fold("unknown")(_.source.name),
      missingStatistics = uncounted(r).map(_.name),
      analyze = AnalyzeTable.Catalogued.unapply(r).flatMap { case (id, _) => statements.get(id) },
      slots = slots.map(a => SlotEntry(a.name, a.dataType.sql, Shown.finite(known.distinct(a).map(_.known)))),
      bytes = bytes,
      partitionFilters = conditions(r).partitionLabels,
      pushedFilters = conditions(r).pushedLabels,
      runtimeFilters = scan.fold(Seq.empty[String])(n => runtimeFilters.getOrElse(n.id, Nil).sorted),
      tasks = scan.filter(_ => numbers.ran).flatMap(n => TableReport.tasks(n.plan))
    )
  }
}

private[report] object TableReport {

  private val mostCharacters = 1000

  /** The tasks of a scan that has run: its partitions are known then. */
  private def tasks(scan: SparkPlan): Option[Long] = {
    val ran = Seq("numFiles", "numOutputRows").exists(PlanNumbers.metric(scan, _).exists(_ > 0))
    val rdd = scan match {
      case s: FileSourceScanExec if ran => Some(s.inputRDD)
      case b: BatchScanExec if ran => Some(b.inputRDD)
      case r: RowDataSourceScanExec if ran => Some(r.rdd)
      case _ => None
    }
    rdd.map(_.getNumPartitions.toLong)
  }
}

/** How the rows of a table are stored, as far as a join could use it, and how SQL names the table. */
private[report] object StoredLayout {
  def of(t: LogicalPlan, entry: TableEntry, session: SparkSession): TableEntry = t match {
    case FileTable(_, fs) =>
      val buckets =
        fs.bucketSpec.map(b => BucketingEntry(b.bucketColumnNames, b.numBuckets, b.sortColumnNames))
      entry.copy(source = "files", qualifiedName = catalogued(t, session), bucketing = buckets)
    case v: DataSourceV2ScanRelation =>
      entry.copy(
        source = "connector",
        qualifiedName = BaseTable.catalogued(v.relation),
        storedBy = transforms(v),
        storedPartitions = v.keyGroupedPartitioning.flatMap(_ => partitions(v))
      )
    case _: HiveTableRelation => entry.copy(source = "hive", qualifiedName = catalogued(t, session))
    case _: InMemoryRelation => entry.copy(source = "cached")
    case _ => entry.copy(qualifiedName = catalogued(t, session))
  }

  private def catalogued(t: LogicalPlan, session: SparkSession): Option[String] = t match {
    case AnalyzeTable.Catalogued(id, _) => Some(AnalyzeTable.name(id, session))
    case _ => None
  }

  /** Connectors are other people's code. */
  private def transforms(v: DataSourceV2ScanRelation): Seq[TransformEntry] =
    Try(v.relation.table.partitioning.toSeq.map(transform)).getOrElse(Nil)

  private def transform(t: Transform): TransformEntry = TransformEntry(
    t.name,
    t.references.toSeq.map(_.fieldNames.mkString(".")),
    t.arguments.toSeq.collect { case l: Literal[?] => String.valueOf(l.value) },
    t.describe
  )

  private def partitions(v: DataSourceV2ScanRelation): Option[Long] = v.scan match {
    case s: SupportsReportPartitioning => Try(s.outputPartitioning.numPartitions.toLong).toOption
    case _ => None
  }
}

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

package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.springbok.catalyst.TableName
import org.apache.spark.sql.springbok.stats.source.{PartitionListing, TableFooters}
import org.json4s.JObject
import org.json4s.JsonDSL._

/** The tables that a query reads, each as often as it reads it: size, statistics, slots, and what was read of them. */
final private[springbok] class TableReport(optimized: LogicalPlan, graph: PlanGraph, numbers: PlanNumbers) {
  private val scans = graph.nodes.map(_.plan).collect { case s: FileSourceScanExec => s }

  /** Columns that joins compare: of these the number of distinct values matters. */
  private val joined = AttributeSet(
    optimized.collectWithSubqueries { case j: Join => j }.flatMap(_.condition).flatMap(_.references)
  )

  def json: Seq[JObject] = optimized.collectWithSubqueries {
    case r @ LogicalRelation(fs: HadoopFsRelation, _, _, _, _) => files(r, fs)
    case r: LogicalRelation =>
      other(r, r.catalogTable.map(_.identifier.table), r.relation.getClass.getSimpleName)
    case r: DataSourceV2ScanRelation => other(r, Some(r.relation.table.name), r.scan.getClass.getSimpleName)
    case r: InMemoryRelation => other(r, r.cacheBuilder.tableName, "cached")
  }

  private def files(r: LogicalRelation, fs: HadoopFsRelation): JObject = {
    val scan =
      scans.find(s => (s.relation eq fs) && (s.output.isEmpty || s.output.exists(r.outputSet.contains)))
    val footers: Option[TableFooters] = numbers.footers(fs)
    val read = (name: String) => scan.filter(_ => numbers.ran).flatMap(PlanNumbers.metric(_, name))
    val all =
      if (fs.partitionSchema.isEmpty) None
      else PartitionListing.of(fs.location).map(_.partitionSpec().partitions.size)
    entry(
      r,
      TableName(r.catalogTable.map(_.identifier), fs),
      fs.fileFormat.toString,
      scan.map(_.output).getOrElse(r.output)
    ) ~
      ("bytes" -> fs.sizeInBytes) ~
      ("files" -> footers.map(_.files)) ~
      ("footers_read" -> footers.map(_.filesRead)) ~
      ("partitions" -> all) ~
      ("partitions_read" -> (if (fs.partitionSchema.isEmpty) None else read("numPartitions"))) ~
      ("files_read" -> read("numFiles")) ~
      ("bytes_read" -> read("filesSize")) ~
      ("rows_read" -> read("numOutputRows"))
  }

  private def other(r: LogicalPlan, name: Option[String], format: String): JObject =
    entry(r, name, format, r.output) ~ ("bytes" -> r.stats.sizeInBytes.toDouble)

  private def entry(r: LogicalPlan, name: Option[String], format: String, slots: Seq[Attribute]): JObject = {
    val known = numbers.statistics(r)
    val unknown = r.output.filter(a => joined.contains(a) && known.ndv(a).isEmpty).map(_.name)
    ("name" -> name) ~
      ("format" -> format) ~
      ("rows" -> known.rows.map(_.value)) ~
      ("rows_source" -> known.rows.fold("unknown")(_.source.name)) ~
      // As in Impala's warning: what would have to be counted for the costs to be known.
      ("missing_statistics" -> (if (known.rows.isEmpty) Seq("rows") else unknown)) ~
      ("slots" -> slots.map { a =>
        ("column" -> a.name) ~
          ("type" -> a.dataType.sql) ~
          ("distinct" -> ReportJson.finite(known.ndv(a)))
      })
  }
}

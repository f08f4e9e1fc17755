package org.apache.spark.sql.springbok.report

import scala.util.Try

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.expressions.{Literal, Transform}
import org.apache.spark.sql.connector.read.SupportsReportPartitioning
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.springbok.catalyst.{BaseTable, FileTable}
import org.apache.spark.sql.springbok.report.model.{BucketingEntry, TableEntry, TransformEntry}

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

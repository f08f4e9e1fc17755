package org.apache.spark.sql.springbok.stats.history

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, Range}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.springbok.catalyst.{BaseTable, FileTable}

/**
 * The digest of a table that a query reads: of its name and place, or of the paths of files without a name, and of how it is
 * read. What it holds is left to [[InputFingerprint]].
 *
 * None for inputs whose changes cannot be noticed, such as tables of other databases, Hive's own readers and RDDs.
 */
private[history] object InputKey {

  /** Rows of a relation in the query whose values are looked at. */
  private val fewRows = 100

  def apply(leaf: LogicalPlan): Option[Digest] = leaf match {
    case FileTable(r, fs) => Some(files(r, fs))
    case s: DataSourceV2ScanRelation if IcebergScan.is(s) =>
      // Conditions that the table's partitions fulfil are in the scan and not in the plan.
      for (name <- BaseTable.unapply(s))
        yield Digest.of("iceberg", Seq(name, s.scan.description()).map(Digest.text))
    case r: Range => Some(Digest.of("range", Seq(r.start, r.end, r.step).map(n => Digest.text(n.toString))))
    case l: LocalRelation if l.data.size <= fewRows => local(l)
    case _ => None
  }

  /** A column of an input, by its name and type. */
  def column(a: Attribute): Digest =
    Digest.of("column", Digest.text(a.name), Digest.text(a.dataType.catalogString))

  private def files(r: LogicalRelation, fs: HadoopFsRelation): Digest = {
    // The paths of a table in the catalog are those of the partitions that the query reads.
    val place = r.catalogTable.fold(fs.location.rootPaths.map(_.toString).sorted)(named)
    val options = fs.options.toSeq.filterNot(_._1.equalsIgnoreCase("path")).sorted.map { case (k, v) =>
      s"$k=$v"
    }
    Digest.of("files", (fs.fileFormat.getClass.getName +: (place ++ options)).map(Digest.text))
  }

  private def named(t: CatalogTable): Seq[String] =
    BaseTable.name(t.identifier) +: t.storage.locationUri.map(_.toString).toSeq

  private def local(l: LocalRelation): Option[Digest] = {
    val types = l.output.map(_.dataType)
    Digest
      .all(l.data) { row =>
        Digest.all(row.toSeq(types))(ExpressionKey.shown(_).map(Digest.text)).map(Digest.of("row", _))
      }
      .map(Digest.of("local", _))
  }
}

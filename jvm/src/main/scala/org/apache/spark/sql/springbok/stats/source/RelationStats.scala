package org.apache.spark.sql.springbok.stats.source

import java.util.IdentityHashMap

import scala.util.Try

import org.apache.spark.sql.catalyst.catalog.{CatalogColumnStat, CatalogStatistics}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeMap}
import org.apache.spark.sql.catalyst.plans.logical.{ColumnStat, Statistics}
import org.apache.spark.sql.execution.datasources.{
  CatalogFileIndex,
  FileIndex,
  HadoopFsRelation,
  LogicalRelation
}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.stats.estimate.{ColumnStats, Estimate, LazyValues, Rows, Source}
import org.apache.spark.sql.types._

/** What catalog, footers and sources say of a relation, and which of it is not to be believed. */
final private[springbok] class RelationStats {
  private val seen = new IdentityHashMap[HadoopFsRelation, Option[ParquetFooters.Table]]()

  /** Footers of a relation, read once; None if nothing could be read. */
  def footers(relation: HadoopFsRelation): Option[ParquetFooters.Table] =
    sample(relation).filter(_.filesRead > 0)

  private def sample(relation: HadoopFsRelation): Option[ParquetFooters.Table] =
    seen.computeIfAbsent(relation, Footers.sample(_))

  /** What was left out of a relation's statistics, and why. */
  def ignored(r: LogicalRelation): Seq[Reason] = r.relation match {
    case fs: HadoopFsRelation =>
      val name =
        r.catalogTable.fold(fs.location.rootPaths.headOption.fold("?")(_.getName))(_.identifier.table)
      val broken = sample(fs).filter(_.unreadable > 0).map { t =>
        Reason.statsIgnored(s"${t.unreadable} footers of $name", "they cannot be read")
      }
      broken.toSeq ++ r.catalogTable.flatMap(_.stats).flatMap(contradicted(fs, _)).map { why =>
        Reason.statsIgnored(s"the analyzed statistics of $name", why)
      }
    case _ => Nil
  }

  /** Why the catalog's row count cannot be right. */
  private def contradicted(fs: HadoopFsRelation, catalog: CatalogStatistics): Option[String] =
    catalog.rowCount.map(_.toDouble).flatMap { analyzed =>
      footers(fs) match {
        case Some(t) =>
          // A sample says less than a count.
          val margin = if (t.exact) 1.1 else 2.0
          val (less, more) = (math.min(analyzed, t.rows), math.max(analyzed, t.rows))
          Option.when(more > math.max(1, less) * margin)(
            f"they count $analyzed%.0f rows, the files' footers ${t.rows}%.0f"
          )
        case None =>
          val counted = catalog.sizeInBytes.toDouble
          present(fs).map(_.sizeInBytes.toDouble).flatMap { now =>
            if (analyzed == 0 && now > 0) Some("they count no rows, and its files are not empty")
            else
              Option.when(math.max(counted, now) > 2 * math.max(1.0, math.min(counted, now)))(
                s"they are of ${Reason.bytes(counted)} of files, of which there are ${Reason.bytes(now)} now"
              )
          }
      }
    }

  /** The index of the files that there are now; None where one that cannot be listed repeats what the catalog says. */
  private def present(fs: HadoopFsRelation): Option[FileIndex] = fs.location match {
    case c: CatalogFileIndex => PartitionListing.of(c)
    case index => Some(index)
  }

  def relation(r: LogicalRelation, fs: HadoopFsRelation): Estimate = {
    val catalog = r.catalogTable.flatMap(_.stats).filter(contradicted(fs, _).isEmpty)
    val footer = footers(fs)
    val analyzed = catalog.flatMap(_.rowCount).map(_.toDouble)
    val rows = analyzed
      .map(n => Rows(n, n, Source.Analyzed, most = if (present(fs).isDefined) n else Long.MaxValue.toDouble))
      .orElse(footer.map(t => Rows(t.rows, t.rows, Source.Footer)))
    lazy val made = PartitionListing.columns(fs)
    val dictionaries = new ParquetDictionaries(fs)
    val columns = for (n <- rows.toSeq; a <- r.output) yield {
      val column = catalog.flatMap(_.colStats.get(a.name))
      val partitions = made.get(a.name)
      val range = partitions
        .flatMap(_.range)
        .orElse(footer.flatMap(_.range(a.name)))
        .orElse(column.flatMap(analyzedRange(a, _)))
      a -> stats(
        a,
        n.value,
        range,
        partitions.map(_.distinct).orElse(column.flatMap(_.distinctCount).map(_.toDouble)),
        column
          .flatMap(_.nullCount)
          .map(_.toDouble / math.max(1.0, n.value))
          .orElse(partitions.map(_.nulls))
          .orElse(footer.flatMap(_.nullFraction(a.name))),
        column.flatMap(_.avgLen).map(_.toDouble).orElse(footer.flatMap(_.valueBytes(a.name))),
        exact = n.source == Source.Footer && footer.exists(_.exact)
      ).copy(
        values = values(dictionaries, a),
        table = r.output.headOption.map(_.exprId),
        within =
          footer.filter(_ => partitions.isEmpty).fold(ColumnStats.anywhere)(f => f.within(a.name, _, _))
      )
    }
    estimate(r.output, rows, columns)
  }

  private def values(dictionaries: ParquetDictionaries, a: Attribute): LazyValues = a.dataType match {
    case _: StringType if !dictionaries.isPartition(a) => new LazyValues(dictionaries.of(a.name))
    case _ => LazyValues.unknown
  }

  /** What a source of DSv2, or whoever made the leaf, reports. */
  def reported(output: Seq[Attribute], s: Statistics, source: Source): Estimate = {
    val rows = s.rowCount.map(_.toDouble).map(n => Rows(n, n, source))
    val columns = for (n <- rows.toSeq; a <- output) yield {
      val column = s.attributeStats.get(a).getOrElse(ColumnStat())
      val range =
        for (min <- column.min.flatMap(Estimate.number); max <- column.max.flatMap(Estimate.number))
          yield ParquetFooters.Range(min, max)
      a -> stats(
        a,
        n.value,
        range,
        column.distinctCount.map(_.toDouble),
        column.nullCount.map(_.toDouble / math.max(1.0, n.value)),
        column.avgLen.map(_.toDouble)
      ).copy(table = output.headOption.map(_.exprId))
    }
    val e = estimate(output, rows, columns)
    // A cached table's, or a source's, own bytes say what the types do not.
    val width = for (bytes <- Estimate.known(s.sizeInBytes); n <- rows if n.value > 0) yield bytes / n.value
    width.fold(e)(w => e.copy(rowBytes = math.max(e.rowBytes, w)))
  }

  private def estimate(
      output: Seq[Attribute],
      rows: Option[Rows],
      columns: Seq[(Attribute, ColumnStats)]
  ): Estimate = {
    val known = AttributeMap(columns)
    Estimate(rows, Estimate.rowBytes(output, known), known)
  }

  private def stats(
      a: Attribute,
      rows: Double,
      range: Option[ParquetFooters.Range],
      counted: Option[Double],
      nulls: Option[Double],
      bytes: Option[Double],
      exact: Boolean = false
  ): ColumnStats = {
    // The distinct values of a whole-numbered column are bounded by its range, of any by the rows.
    val domain = range.filter(_ => countable(a.dataType)).map(x => x.max - x.min + 1)
    val ndv = counted.orElse(domain.map(math.min(_, rows)))
    val tight = counted.isDefined || domain.exists(_ < rows * 0.9)
    // What is counted is estimated with an error of some percent. A range of fewer numbers than rows has one twice.
    val fewest = if (exact) rows * (1 - nulls.getOrElse(0.0)) else rows * 0.98
    val unique = counted.exists(_ >= rows * 0.95) || domain.exists(d => d >= fewest && d <= rows * 1.02)
    ColumnStats(
      ndv,
      tight,
      range.map(_.min),
      range.map(_.max),
      rows,
      bytes,
      ndv.getOrElse(rows),
      nulls,
      unique,
      proven = exact && domain.contains(rows) && nulls.contains(0.0)
    )
  }

  private def countable(t: DataType): Boolean = t match {
    case _: IntegralType | DateType => true
    case _ => false
  }

  private def analyzedRange(a: Attribute, c: CatalogColumnStat): Option[ParquetFooters.Range] = {
    def parsed(text: Option[String]) = text.flatMap { s =>
      Try(CatalogColumnStat.fromExternalString(s, a.name, a.dataType, c.version)).toOption
        .flatMap(Estimate.number)
    }
    for (min <- parsed(c.min); max <- parsed(c.max)) yield ParquetFooters.Range(min, max)
  }
}

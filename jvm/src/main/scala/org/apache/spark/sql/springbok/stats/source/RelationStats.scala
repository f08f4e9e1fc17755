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
  LogicalRelation,
  TextBasedFileFormat
}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.stats.estimate._
import org.apache.spark.sql.types.{IntegralType, StringType}

/** What the catalog, footers and other sources tell of a relation, and what of it is ignored because it cannot be right. */
final private[springbok] class RelationStats {
  private val seen = new IdentityHashMap[HadoopFsRelation, Option[TableFooters]]()

  /** Footers of a relation, read once; None if nothing could be read. */
  def footers(relation: HadoopFsRelation): Option[TableFooters] =
    sample(relation).filter(_.filesRead > 0)

  private def sample(relation: HadoopFsRelation): Option[TableFooters] =
    seen.computeIfAbsent(relation, Footers.sample(_))

  /** What was left out of a relation's statistics, and why. */
  def ignored(r: LogicalRelation): Seq[Reason] = r.relation match {
    case fs: HadoopFsRelation =>
      val name =
        r.catalogTable.fold(fs.location.rootPaths.headOption.fold("?")(_.getName))(_.identifier.table)
      val broken = sample(fs).filter(_.unreadable > 0).map { t =>
        Reason.statsIgnored(s"${t.unreadable} footers of $name", "they cannot be read")
      }
      broken.toSeq ++ r.catalogTable.flatMap(_.stats).flatMap(contradiction(fs, _)).map { why =>
        Reason.statsIgnored(s"the analyzed statistics of $name", why)
      }
    case _ => Nil
  }

  /** Why the catalog's row count cannot be right, None if it can. */
  private def contradiction(fs: HadoopFsRelation, catalog: CatalogStatistics): Option[String] =
    catalog.rowCount.map(_.toDouble).flatMap { analyzed =>
      footers(fs).fold(contradictionOfSizes(fs, catalog, analyzed)) { t =>
        // A sample is less certain than a count.
        val margin = if (t.exact) 1.1 else 2.0
        val (less, more) = (math.min(analyzed, t.rows), math.max(analyzed, t.rows))
        Option.when(more > math.max(1, less) * margin)(
          f"they count $analyzed%.0f rows, the files' footers ${t.rows}%.0f"
        )
      }
    }

  private def contradictionOfSizes(
      fs: HadoopFsRelation,
      catalog: CatalogStatistics,
      analyzed: Double
  ): Option[String] = {
    val counted = catalog.sizeInBytes.toDouble
    currentFiles(fs).map(_.sizeInBytes.toDouble).flatMap { now =>
      if (analyzed == 0 && now > 0) Some("they count no rows, and its files are not empty")
      else
        Option.when(math.max(counted, now) > 2 * math.max(1.0, math.min(counted, now)))(
          s"they describe ${Reason.bytes(counted)} of files, and the table now has ${Reason.bytes(now)}"
        )
    }
  }

  /** The index of the files that there are now; None if it cannot be listed and merely repeats the catalog. */
  private def currentFiles(fs: HadoopFsRelation): Option[FileIndex] = fs.location match {
    case c: CatalogFileIndex => PartitionListing.of(c)
    case index => Some(index)
  }

  def relation(r: LogicalRelation, fs: HadoopFsRelation): Estimate = {
    val catalog = r.catalogTable.flatMap(_.stats).filter(contradiction(fs, _).isEmpty)
    val footer = footers(fs)
    val rows = LogRows
      .of(fs.location)
      .map(n => Rows(n, n, Source.Log))
      .orElse(catalog.flatMap(_.rowCount).map(n => analyzed(fs, n.toDouble)))
      .orElse(footer.map(t => Rows(t.rows, t.rows, Source.Footer)))
      .orElse(TextRows.of(fs))
      .orElse(Option.when(PartitionListing.isEmpty(fs.location)) {
        // A scan lists a catalog's partitions anew, and others may have added files meanwhile.
        val most = if (fs.location.isInstanceOf[CatalogFileIndex]) unbounded else 0.0
        Rows(0, 0, Source.Footer, most)
      })
    val columns = rows.fold(Seq.empty[(Attribute, ColumnStats)]) { n =>
      val partitions = PartitionColumns.of(fs)
      val dictionaries = new ParquetDictionaries(fs)
      val table = ColumnStats.Table(n.value, r.output.headOption.map(_.exprId))
      val exact = n.source == Source.Footer && footer.exists(_.exact)
      r.output.map { a =>
        val partition = partitions.get(a.name)
        val analyzed = catalog.flatMap(_.colStats.get(a.name))
        val facts = columnFacts(a, n.value, analyzed, partition, footer)
        val present = n.value * (1 - facts.nullFraction.getOrElse(0.0))
        val longest = partition.flatMap(_.longest).orElse(analyzed.flatMap(_.maxLen)).map(_ * n.most)
        val inFiles = new FileColumn(a, present, footer.filter(_ => partition.isEmpty), dictionaries, longest)
        a -> facts.stats(a.dataType, table, exact, inFiles)
      }
    }
    val e = estimate(r.output, rows, columns)
    // Text is about as long in memory as in its files.
    val width = for {
      n <- rows if n.value > 0 && fs.fileFormat.isInstanceOf[TextBasedFileFormat]
      files <- currentFiles(fs)
    } yield files.sizeInBytes / n.value
    width.fold(e)(w => e.copy(rowBytes = math.max(e.rowBytes, w)))
  }

  private def analyzed(fs: HadoopFsRelation, n: Double): Rows =
    Rows(n, n, Source.Analyzed, most = if (currentFiles(fs).isDefined) n else unbounded)

  private def unbounded = Long.MaxValue.toDouble

  private def columnFacts(
      a: Attribute,
      rows: Double,
      analyzed: Option[CatalogColumnStat],
      partition: Option[PartitionColumn],
      footer: Option[TableFooters]
  ): ColumnFacts =
    ColumnFacts(
      range = partition
        .flatMap(_.range)
        .orElse(footer.flatMap(_.range(a.name)))
        .orElse(analyzed.flatMap(analyzedRange(a, _))),
      counted = partition.map(_.distinct).orElse(analyzed.flatMap(_.distinctCount).map(_.toDouble)),
      nullFraction = analyzed
        .flatMap(_.nullCount)
        .map(_.toDouble / math.max(1.0, rows))
        .orElse(partition.map(_.nulls))
        .orElse(footer.flatMap(_.nullFraction(a.name))),
      valueBytes = analyzed.flatMap(_.avgLen).map(_.toDouble).orElse(footer.flatMap(_.valueBytes(a.name))),
      dense = partition.isEmpty && footer.exists(_.dense(a.name))
    )

  private def analyzedRange(a: Attribute, c: CatalogColumnStat): Option[ValueRange] = {
    def parsed(text: Option[String]) = text.flatMap { s =>
      Try(CatalogColumnStat.fromExternalString(s, a.name, a.dataType, c.version)).toOption
        .flatMap(Estimate.number)
    }
    for (min <- parsed(c.min); max <- parsed(c.max)) yield ValueRange(min, max)
  }

  /** What a DSv2 source, or whoever made the leaf, reports. */
  def reported(output: Seq[Attribute], s: Statistics, source: Source): Estimate = {
    // Some connectors give the largest number for an unknown one.
    val counted = s.rowCount.filter(_ < Long.MaxValue).map(_.toDouble)
    // A guess by Spark, as of the plan that a checkpoint keeps, bounds nothing.
    val rows = counted.map(n => Rows(n, if (source == Source.Estimated) unbounded else n, source))
    val columns = rows.fold(Seq.empty[(Attribute, ColumnStats)]) { n =>
      val table = ColumnStats.Table(n.value, output.headOption.map(_.exprId))
      output.map { a =>
        val column = s.attributeStats.get(a).getOrElse(ColumnStat())
        val longest = column.maxLen.flatMap(l => rows.map(_.most * l))
        val facts = reportedFacts(column, n.value)
        a -> facts.stats(a.dataType, table, exact = false, StoredValues.bounded(longest))
      }
    }
    val e = estimate(output, rows, columns)
    // The bytes that a cached table or a source reports tell what the types do not.
    val width = for (bytes <- Estimate.known(s.sizeInBytes); n <- rows if n.value > 0) yield bytes / n.value
    width.fold(e)(w => e.copy(rowBytes = math.max(e.rowBytes, w)))
  }

  private def reportedFacts(c: ColumnStat, rows: Double): ColumnFacts =
    ColumnFacts(
      range =
        for (min <- c.min.flatMap(Estimate.number); max <- c.max.flatMap(Estimate.number))
          yield ValueRange(min, max),
      counted = c.distinctCount.map(_.toDouble),
      nullFraction = c.nullCount.map(_.toDouble / math.max(1.0, rows)),
      valueBytes = c.avgLen.map(_.toDouble),
      dense = false
    )

  private def estimate(
      output: Seq[Attribute],
      rows: Option[Rows],
      columns: Seq[(Attribute, ColumnStats)]
  ): Estimate = {
    val known = AttributeMap(columns)
    Estimate(rows, Estimate.rowBytes(output, known), known)
  }
}

/**
 * A column's values in the files of its table.
 *
 * @param present
 *   rows in which it is not null
 * @param footers
 *   None if they do not tell of the column
 * @param longest
 *   bytes of all values if each is as long as the longest one of the partitions, or that was analyzed
 */
final private class FileColumn(
    a: Attribute,
    present: Double,
    footers: Option[TableFooters],
    val dictionaries: ParquetDictionaries,
    longest: Option[Double]
) extends StoredValues {
  override lazy val mostBytes: Option[Double] = {
    def listed = footers.filter(_.allRead).flatMap(_ => textInDictionary).flatMap(dictionaries.mostBytes)
    footers.flatMap(_.mostBytes(name)).orElse(longest).orElse(listed)
  }

  override def digits: Option[Int] = for {
    range <- footers.filter(_.allRead).flatMap(_.range(name)) if a.dataType.isInstanceOf[IntegralType]
  } yield math.max(math.abs(range.min), math.abs(range.max)).toLong.toString.length

  override lazy val distinctValues: Option[ColumnValues] = textInDictionary.flatMap(dictionaries.values)

  override lazy val mostDistinct: Option[Int] = textInDictionary.flatMap(dictionaries.mostDistinct)

  override def distinctCount: Option[Double] = integralInDictionary.flatMap(dictionaries.count(_, present))

  override def inRowGroup: Option[RowGroupSample] = integralInDictionary.flatMap(dictionaries.inRowGroup)

  override def readWith(others: Seq[StoredValues]): Unit =
    sameTable(others).foreach(cs => dictionaries.readValues(cs.flatMap(_.inDictionary)))

  override def sampleWith(others: Seq[StoredValues]): Unit =
    sameTable(others).map(_.filter(_.isSampled)).foreach(cs => dictionaries.readNumbers(cs.map(_.name)))

  /** This and other columns of its table, None if there are no others. */
  private def sameTable(others: Seq[StoredValues]): Option[Seq[FileColumn]] = {
    val same = others.collect { case o: FileColumn if o.dictionaries eq dictionaries => o }
    Option.when(same.nonEmpty)(this +: same)
  }

  private def name: String = a.name

  private def textInDictionary: Option[String] = inDictionary.filter(_ => a.dataType.isInstanceOf[StringType])

  private def integralInDictionary: Option[String] =
    inDictionary.filter(_ => a.dataType.isInstanceOf[IntegralType])

  private def inDictionary: Option[String] = a.dataType match {
    case _: StringType | _: IntegralType if !dictionaries.isPartition(a) => Some(name)
    case _ => None
  }

  override def share(low: Double, high: Double, step: Double): Option[Double] =
    footers
      .flatMap(_.share(name, low, high, step))
      .map(even => sampled.fold(even)(_.share(low, high, even)))

  private lazy val sampled: Option[SampledRows] = if (isSampled) dictionaries.numbers(name) else None

  /** Whether it is a large table's column, and the ranges of its row groups tell little. */
  private def isSampled: Boolean = present >= FileColumn.leastSampled &&
    footers.exists(f => f.overlap(name) && f.groups.forall(_.rows <= ChunkSample.maxNumbers))

  override def fractionWithin(low: Double, high: Double): Double =
    footers.fold(1.0)(_.fractionWithin(name, low, high))
}

private object FileColumn {

  /** Columns with fewer values are not sampled: reading a file takes longer than a worse plan for so few rows. */
  private val leastSampled = 100000
}

/**
 * The rows of the files that a query reads of a table, as the table's log counts them.
 *
 * Delta plans a scan before Spark plans the query. If the query has a condition on the table, `IS NOT NULL` of a join's key
 * included, the scan says how many rows its files have, less those that deletion vectors delete. Nothing is read for it. The
 * columns' ranges of those files are in the log too, but Delta does not keep them in the plan.
 *
 * Delta is no dependency. Its classes are case classes, so they are read as products, by the names and places of their fields:
 * `DeltaScan(version, files, total, partition, scanned)` and `DataSize(bytesCompressed, rows, files, logicalRows)`.
 */
private[stats] object LogRows {
  def of(index: FileIndex): Option[Double] =
    for {
      scan <- scanOf(index)
      scanned <- scan.productIterator.flatMap(product(_, "DataSize")).toSeq.lastOption
      rows <- number(scanned, logicalRows).orElse(number(scanned, rows))
    } yield rows.toDouble

  /** The version of the table that the query reads, if it has a condition on the table. */
  def version(index: FileIndex): Option[Long] = scanOf(index).flatMap(number(_, version))

  /** The number of files that the query reads, if it has a condition on the table. */
  def files(index: FileIndex): Option[Long] = for {
    scan <- scanOf(index) if files < scan.productArity
    found <- Some(scan.productElement(files)).collect { case s: scala.collection.Seq[_] => s.size.toLong }
  } yield found

  private def scanOf(index: FileIndex): Option[Product] =
    product(index, "PreparedDeltaFileIndex").flatMap(
      _.productIterator.flatMap(product(_, "DeltaScan")).nextOption()
    )

  private val version = 0
  private val files = 1
  private val rows = 1
  private val logicalRows = 3

  private def product(x: Any, name: String): Option[Product] = x match {
    case p: Product if p.productPrefix == name => Some(p)
    case _ => None
  }

  private def number(p: Product, field: Int): Option[Long] =
    Option.when(field < p.productArity)(p.productElement(field)).collect { case Some(n: Long) => n }
}

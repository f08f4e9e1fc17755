package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.parquet.hadoop.ParquetInputFormat
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, DataSourceStrategy, HadoopFsRelation}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetUtils}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{FileTable, LinearColumn}
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.keys.{Comparison, KeyFacts, KeyPredicates}
import org.apache.spark.sql.springbok.rules.runtimefilters.{PushedFilter, PushWay}
import org.apache.spark.sql.springbok.stats.estimate.{Estimate, ValueRange}
import org.apache.spark.sql.springbok.stats.source.{Footers, OrcFooters, RowGroup, TableFiles, TableFooters}
import org.apache.spark.sql.types._
import org.apache.spark.util.collection.BitSet

/**
 * What a scan of files can skip by the keys of a build side.
 *
 * Parquet compares lists of up to `spark.sql.parquet.pushdown.inFilterThreshold` values one by one, and a longer list as one
 * range. So a longer list is pushed as several ranges, split at its widest gaps.
 *
 * @param anyway
 *   ranges of the column that are read whatever the keys are. The predicates do not have them yet
 */
final private[springbok] class FilePruning(
    scan: FileSourceScanExec,
    column: Attribute,
    keyType: DataType,
    conf: SQLConf,
    anyway: Seq[LinearColumn.Span] = Nil
) {
  import FilePruning._
  private val inLimit = conf.getConf(FilterConf.IN_LIMIT)
  private val predicates = new KeyPredicates(column, conf)
  private val isOrc = scan.relation.fileFormat.isInstanceOf[OrcFileFormat]
  private val ranges = if (isOrc) maxOrcRanges else maxRanges
  import predicates._

  /** The predicate, if the scan can skip something by it; `always` pushes it whatever the footers say. */
  def of(k: KeyFacts, always: Boolean): Option[PushedFilter] = {
    val values = listed(k)
    // The list may be long: it is looked up once for each partition.
    if (partitioned)
      for ((kind, predicate) <- exact(values).orElse(bounded(k)))
        yield PushedFilter(kind, predicate, PushWay.FilePartitions)
    else if (!takesKeys || !comparedAlike.forall(KeyPredicates.all(k))) None
    else {
      val byData = for {
        (kind, predicate, spans) <- data(k, values)
        pruned = prunes(spans)
        if always || pruned.fold(mayPrune(spans, values))(_._1 > 0)
      } yield PushedFilter(
        kind,
        predicate,
        fileData(None),
        pruned.filter(_ => counted).map(p => (p._1, p._2))
      )
      values.filter(_ => anyway.isEmpty).flatMap(BucketPruning.of(scan, column, _, conf)) match {
        case None => byData
        case read =>
          // All rows of a key lie in one bucket. The row test removes what is left of a key that has no match.
          val alone =
            keyRange(k)
              .map(_._2)
              .orElse(exact(values).filterNot(_ => shifted).map(_._2))
              .map(PushedFilter(PushWay.buckets, _, fileData(None)))
          byData.orElse(alone).map(_.copy(way = fileData(read)))
      }
    }
  }

  /** The bound of a comparison as a predicate on the column, if its type has the bound and the scan can skip by it. */
  def bound(c: Comparison, value: Any, always: Boolean): Option[PushedFilter] =
    if (shifted && !partitioned)
      boundOf(
        c.copy(orEqual = true),
        if (c.below) ShiftedDays.last(value) else ShiftedDays.first(value),
        always
      )
    else boundOf(c, value, always)

  private def boundOf(c: Comparison, value: Any, always: Boolean): Option[PushedFilter] =
    KeyPredicates.bound(column, c, value).flatMap { predicate =>
      if (partitioned) Some(PushedFilter(c.kind, predicate, PushWay.FilePartitions))
      else if (!takesKeys || !comparedAlike.forall(_(value))) None
      else {
        val pruned = Estimate
          .number(value)
          .flatMap(v =>
            removed(r => KeyPredicates.asked(column, c).refuses(r.min, r.max, v) && !readAnyway(r))
          )
        Option.when(always || pruned.fold(byLog)(_._1 > 0))(
          PushedFilter(c.kind, predicate, fileData(None), pruned.filter(_ => counted))
        )
      }
    }

  /**
   * Whether files may be skipped by what the footers do not tell: the dictionaries of row groups, which are asked for a short
   * list, or the smallest and largest values in a table format's log.
   */
  private def mayPrune(spans: Seq[KeySpan], values: Option[Seq[Any]]): Boolean =
    byLog || spans.isEmpty && values.exists(_.size <= KeyPredicates.shortList)

  private def data(k: KeyFacts, values: Option[Seq[Any]]): Option[(String, Expression, Seq[KeySpan])] = {
    val short = values.filter { vs =>
      !shifted && vs.size <= math.min(inLimit, conf.parquetFilterPushDownInFilterThreshold)
    }
    val split = values.flatMap(spansOf).filter(_.size > 1).map(_.map(widened))
    if (short.isDefined)
      exact(values).map { case (kind, p) => (kind, p, short.get.flatMap(v => KeySpan.of(v, v))) }
    else if (split.isDefined)
      for (s <- split; p <- KeySpan.predicate(s, predicates))
        yield ("ranges", p, s)
    else
      for ((kind, p) <- keyRange(k); (low, high) <- k.range)
        yield (kind, p, KeySpan.of(low, high).map(widened).toSeq)
  }

  /** The range of the keys. */
  private def keyRange(k: KeyFacts): Option[(String, Expression)] =
    for {
      (kind, p) <- bounded(k)
      (low, high) <- k.range
      all <- if (shifted) between(ShiftedDays.first(low), ShiftedDays.last(high)) else Some(p)
    } yield kind -> all

  /** The values that a reader may take for those of a span. */
  private def widened(s: KeySpan): KeySpan =
    if (shifted) KeySpan.of(ShiftedDays.first(s.low), ShiftedDays.last(s.high)).getOrElse(s) else s

  private lazy val shifted = ShiftedDays.in(scan, column, conf)

  /** Whether the scan's reader may be told of keys. The ranges that are read anyway cannot be widened. */
  private def takesKeys: Boolean =
    comparable(scan, column, footers) && (anyway.isEmpty || !shifted) &&
      (readerOption.isEmpty || !ParquetPages.prunesByItself(scan))

  private lazy val readerOption: Option[(String, String)] = ParquetPages.option(scan)

  private def fileData(buckets: Option[BitSet]): PushWay = PushWay.FileData(buckets, readerOption)

  /**
   * The keys in a limited number of ranges, split at the widest gaps, None if they are not numbers. Keys outside of the range
   * that the footers give for the column form one range on either side. They use up no splits, and they are kept, so that
   * the answer does not depend on the footers.
   */
  private def spansOf(values: Seq[Any]): Option[Seq[KeySpan]] =
    KeySpan.sorted(values, keyType).map { sorted =>
      val reached = footers.flatMap(_.range(column.name))
      val (below, rest) = sorted.span(s => reached.exists(_.min > s.to))
      val (within, above) = rest.span(s => reached.forall(_.max >= s.from))
      KeySpan.split(below, 1) ++ KeySpan.split(within, ranges - 2) ++ KeySpan.split(above, 1)
    }

  private lazy val footers = Footers.read(scan.relation)

  /** Whether a table format's log names the files. */
  private lazy val byLog = TableFiles.namedByLog(scan.relation.location)

  /** Which keys are compared alike with rows and with the smallest and largest values that the source keeps; None if all are. */
  private lazy val comparedAlike: Option[Any => Boolean] = column.dataType match {
    case _: StringType if isOrc || byLog => Some(KeyPredicates.isAscii(_))
    case TimestampType if byLog => Some(KeyPredicates.hasOffsetInMinutes(_))
    case _ => None
  }

  /** Whether row groups can be counted: not if only a sample of the footers was read. */
  private def counted: Boolean = footers.exists(all)

  /**
   * How many row groups hold none of the keys, and how many there are. None if the footers or the keys cannot tell: then
   * dictionaries may still refuse a short list.
   */
  private def prunes(spans: Seq[KeySpan]): Option[(Int, Int)] =
    if (spans.isEmpty) None
    else removed(r => !spans.exists(s => s.from <= r.max && s.to >= r.min) && !readAnyway(r))

  private def readAnyway(r: ValueRange): Boolean =
    anyway.exists(s => s.low.toDouble <= r.max && s.high.toDouble >= r.min)

  private def removed(refused: ValueRange => Boolean): Option[(Int, Int)] = {
    // A null has no match.
    val (empty, groups) = footers.toSeq.flatMap(_.groups).partition(_.allNull(column.name))
    val ranges = groups.map(_.ranges.get(column.name))
    Option.when(ranges.nonEmpty && ranges.forall(_.isDefined)) {
      (ranges.flatten.count(refused) + empty.size, ranges.size + empty.size)
    }
  }

  private def partitioned: Boolean = PrunableColumns.partitions(scan, column, conf)
}

private[springbok] object FilePruning {

  /** Whether the footers of all files were read. */
  private def all(t: TableFooters): Boolean = t.files == t.filesRead

  /** Whether the scan reads the files that were listed for the footers. A catalog's partitions are listed anew. */
  private def sameFiles(r: HadoopFsRelation): Boolean = !r.location.isInstanceOf[CatalogFileIndex]

  /** Whether files are read by the names of columns, as predicates are, and not by numbers of fields or by positions. */
  private def byNames(r: HadoopFsRelation): Boolean = r.fileFormat match {
    case _: OrcFileFormat => !OrcFooters.readByPosition(r)
    // Delta numbers fields as well, and names them the same in all files.
    case f if f.getClass == classOf[ParquetFileFormat] =>
      !SQLConf.get.parquetFieldIdReadEnabled || !ParquetUtils.hasFieldIds(r.dataSchema)
    case _ => true
  }

  /**
   * Whether a reader skips rows by comparing keys with what its files hold. Spark's filters cut a decimal down to the digits
   * that a Parquet file has, so all files must be known to have the column's precision. ORC's take a key for a value of the
   * type that a file has, so all files must be known to have the column's. Readers of text test each row by a predicate, and
   * not always by the value that they give.
   *
   * @param footers
   *   those of the scan's table
   */
  def comparable(scan: FileSourceScanExec, column: Attribute, footers: => Option[TableFooters]): Boolean = {
    def each(group: RowGroup => Boolean) =
      sameFiles(scan.relation) && footers.exists(t => all(t) && t.groups.forall(group))
    (scan.relation.fileFormat, column.dataType) match {
      case _ if !byNames(scan.relation) => false
      // A partition column that is not read from folders: nobody knows what its reader compares.
      case _ if FileTable.isPartitionedBy(scan.relation, column) => false
      case (_: ParquetFileFormat, d: DecimalType) =>
        each(_.precisions.get(column.name).contains(d.precision))
      case (_: ParquetFileFormat, _) => true
      // If all of a file's names are ORC's own, Spark reads its columns by position.
      case (_: OrcFileFormat, t) =>
        each(g => g.types.get(column.name).exists(orcTypes(t)) && !g.types.keys.forall(_.startsWith("_col")))
      case _ => false
    }
  }

  /** The types of ORC files, by ORC's names, whose values ORC compares with a key of this type. */
  private def orcTypes(t: DataType): Set[String] = t match {
    case ByteType | ShortType | IntegerType | LongType => Set("tinyint", "smallint", "int", "bigint")
    case DateType => Set("date")
    case _: DecimalType => Set("decimal")
    case _: StringType => Set("string", "char", "varchar")
    case _ => Set.empty
  }

  /** Each row group and page is compared with every range. */
  val maxRanges = 16

  /** ORC expands alternatives and gives up above 256 combinations, with two bounds for each range. */
  val maxOrcRanges = 8
}

/**
 * Which Parquet scans may skip pages by a predicate that is added at run time.
 *
 * parquet-java's record reader may return a value of an earlier row when the column index leaves out pages
 * (https://github.com/apache/parquet-java/issues/3747). Spark's vectorized reader does not use it. Every other reader of Parquet
 * files is taken for one that does: Spark's for types that are not read in batches, and those of other formats. These scans
 * get the predicate with the column index switched off. They skip row groups by statistics, dictionaries and bloom filters,
 * and read the pages of the other row groups in full, which keeps the values of a row together.
 */
private[runtimefilters] object ParquetPages {
  private val delta = "org.apache.spark.sql.delta.DeltaParquetFileFormat"

  /** The option that the reader needs with a predicate. */
  def option(scan: FileSourceScanExec): Option[(String, String)] = scan.relation.fileFormat match {
    case f: ParquetFileFormat if !(isSparks(f) && readsBatches(scan)) =>
      Some(ParquetInputFormat.COLUMN_INDEX_FILTERING_ENABLED -> "false")
    case _ => None
  }

  /** Whether Spark has pushed predicates by which the scan may skip pages. Without the column index, it would read them. */
  def prunesByItself(scan: FileSourceScanExec): Boolean =
    !isWithoutIndex(scan) && scan.dataFilters.exists { f =>
      !f.isInstanceOf[IsNotNull] &&
      DataSourceStrategy.translateFilter(f, supportNestedPredicatePushdown = true).isDefined
    }

  /** Keys of another filter have been pushed. */
  private def isWithoutIndex(scan: FileSourceScanExec): Boolean =
    scan.relation.options.get(ParquetInputFormat.COLUMN_INDEX_FILTERING_ENABLED).contains("false")

  /** Delta's format only adds columns to what Spark's reader returns. */
  private def isSparks(f: ParquetFileFormat): Boolean =
    f.getClass == classOf[ParquetFileFormat] || f.getClass.getName == delta

  /** As `ParquetFileFormat` decides it. A scan of too many columns for generated code reads batches and returns rows. */
  private def readsBatches(scan: FileSourceScanExec): Boolean = ParquetUtils.isBatchReadSupportedForSchema(
    scan.conf,
    StructType(scan.relation.partitionSchema ++ scan.requiredSchema)
  )
}

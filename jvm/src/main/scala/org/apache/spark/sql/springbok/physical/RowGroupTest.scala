package org.apache.spark.sql.springbok.physical

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.parquet.filter2.predicate.FilterPredicate
import org.apache.parquet.filter2.statisticslevel.StatisticsFilter
import org.apache.parquet.hadoop.metadata.{BlockMetaData, FileMetaData}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.{Expression, FileSourceConstantMetadataAttribute}
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.{DataSourceStrategy, DataSourceUtils, PartitionedFile}
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetFilters, ParquetOptions}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.springbok.catalyst.Interrupted
import org.apache.spark.util.SerializableConfiguration

/**
 * The keys of a late filter as a predicate on a column of Parquet files. A task that has it when it begins leaves out the row
 * groups whose statistics show that no row satisfies it, as Spark's reader does with a predicate that it had from the start.
 *
 * '''Why the answer cannot change''': the predicate is one that would be pushed to the scan if the scan had waited, so each
 * row that does not satisfy it has no match in the join. Spark makes Parquet's predicate of it, for the types, the calendar and
 * the names of each file, and Parquet compares it with the statistics of a row group; a row group without statistics is read.
 * A file is then split around the row groups that are left, and Parquet itself says which row groups the splits have: if
 * these are not exactly those that are left, the file is read as it was. So is a file whose footer cannot be read. The rows
 * that are left keep their order.
 *
 * @param openBytes
 *   bytes that are read in the time in which a file is opened (`spark.sql.files.openCostInBytes`). Fewer are not worth
 *   reading a footer, nor opening a file once more
 */
final private[sql] class RowGroupTest private (
    filter: Filter,
    openBytes: Long,
    hadoop: Broadcast[SerializableConfiguration],
    conversion: RowGroupTest.Conversion
) extends Serializable
    with Logging {
  import RowGroupTest._

  /** What is left of a file, or of a part of one. */
  def parts(file: PartitionedFile): Parts = {
    val whole = Parts(Seq(file), 0)
    if (file.length <= openBytes) whole
    else
      try {
        val footer = ParquetFooter.read(file.toPath, hadoop.value.value)
        conversion.predicate(filter, footer.file).flatMap(parts(file, footer, _)).getOrElse(whole)
      } catch {
        case e @ Interrupted() => throw e
        case NonFatal(e) =>
          logDebug(s"The footer of ${file.filePath} cannot be read. The file is read whole.", e)
          whole
      }
  }

  /** None if all of it is left. */
  private def parts(
      file: PartitionedFile,
      footer: ParquetFooter,
      predicate: FilterPredicate
  ): Option[Parts] = {
    val groups = footer.groups(file.start, file.start + file.length)
    val kept = groups.indices.filterNot(i => StatisticsFilter.canDrop(predicate, groups(i).getColumns))
    val runs = kept
      .foldLeft(List.empty[Run]) {
        case (run :: before, i) if bytes(groups.slice(run.last + 1, i)) <= openBytes =>
          run.copy(last = i) :: before
        case (before, i) => Run(i, i) :: before
      }
      .reverse
    def begin(i: Int): Long =
      if (i == 0) file.start
      else if (i == groups.size) file.start + file.length
      else groups(i).getStartingPos
    def isExact(r: Run): Boolean =
      starts(footer.groups(begin(r.first), begin(r.last + 1))) == starts(groups.slice(r.first, r.last + 1))
    val skipped = groups.size - runs.map(_.size).sum
    Option.when(skipped > 0 && runs.forall(isExact)) {
      val files = runs.map { r =>
        file.copy(start = begin(r.first), length = begin(r.last + 1) - begin(r.first))
      }
      Parts(files, skipped)
    }
  }

  private def starts(groups: Seq[BlockMetaData]): Seq[Long] = groups.map(_.getStartingPos)

  private def bytes(groups: Seq[BlockMetaData]): Long = groups.map(_.getCompressedSize).sum
}

private[sql] object RowGroupTest {

  /**
   * The parts of a file that are read, in their order.
   *
   * @param skipped
   *   row groups that are not read
   */
  final case class Parts(files: Seq[PartitionedFile], skipped: Int)

  /** Row groups that are read one after the other, by their numbers. */
  final private case class Run(first: Int, last: Int) {
    def size: Int = last - first + 1
  }

  /** How Spark's reader makes Parquet's predicates, by the session's settings and the table's options. */
  final private case class Conversion(
      date: Boolean,
      timestamp: Boolean,
      decimal: Boolean,
      string: Boolean,
      inThreshold: Int,
      caseSensitive: Boolean,
      rebaseMode: String
  ) {
    def predicate(filter: Filter, file: FileMetaData): Option[FilterPredicate] = {
      val properties = file.getKeyValueMetaData.asScala
      val rebase = DataSourceUtils.datetimeRebaseSpec(properties.get(_).orNull, rebaseMode)
      new ParquetFilters(
        file.getSchema,
        date,
        timestamp,
        decimal,
        string,
        inThreshold,
        caseSensitive,
        rebase
      ).createFilter(filter)
    }
  }

  /**
   * Whether row groups of the scan may be left out. Formats that are made of Parquet number rows or have columns by other
   * names. Columns that tell the part of the file which a row was read from would have other values.
   */
  def applies(scan: FileSourceScanExec): Boolean =
    scan.relation.fileFormat.getClass == classOf[ParquetFileFormat] && scan.conf.parquetFilterPushDown &&
      !scan.output
        .collect { case FileSourceConstantMetadataAttribute(a) => a }
        .exists(_.name.contains("file_block_"))

  /** None if the reader has nothing to compare with the predicate. */
  def of(scan: FileSourceScanExec, predicate: Expression, conf: SQLConf): Option[RowGroupTest] = {
    val nested = DataSourceUtils.supportNestedPredicatePushdown(scan.relation)
    DataSourceStrategy.translateFilter(predicate, nested).filter(_ => applies(scan)).map { filter =>
      val session = scan.relation.sparkSession
      val hadoop = session.sessionState.newHadoopConfWithOptions(scan.relation.options)
      val conversion = Conversion(
        conf.parquetFilterPushDownDate,
        conf.parquetFilterPushDownTimestamp,
        conf.parquetFilterPushDownDecimal,
        conf.parquetFilterPushDownStringPredicate,
        conf.parquetFilterPushDownInFilterThreshold,
        conf.caseSensitiveAnalysis,
        new ParquetOptions(scan.relation.options, conf).datetimeRebaseModeInRead
      )
      val shared = session.sparkContext.broadcast(new SerializableConfiguration(hadoop))
      new RowGroupTest(filter, conf.filesOpenCostInBytes, shared, conversion)
    }
  }
}

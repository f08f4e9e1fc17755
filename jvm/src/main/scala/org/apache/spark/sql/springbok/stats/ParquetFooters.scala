package org.apache.spark.sql.springbok.stats

import java.util.{Collections, LinkedHashMap => JLinkedHashMap, Map => JMap}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.format.converter.ParquetMetadataConverter.NO_FILTER
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.schema.LogicalTypeAnnotation._
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName
import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, PartitioningAwareFileIndex}
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetFooterReader}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.SpringbokConf

/**
 * Row counts and column ranges from Parquet footers.
 *
 * A bounded sample of a table's files is opened, spread over the listing; the others are estimated from it by bytes.
 * Footers are cached by path, length and modification time. A footer that cannot be read is left out.
 */
object ParquetFooters extends Logging {

  /** Smallest and largest value of a column in a row group, as numbers. */
  final case class Range(min: Double, max: Double)

  final case class RowGroup(rows: Long, ranges: Map[String, Range], sizes: Map[String, Long])

  /**
   * What the footers say.
   *
   * @param rows
   *   rows of the whole table, scaled by bytes when not all files were read
   * @param groups
   *   the row groups of the files that were read
   */
  final case class Table(rows: Double, files: Int, filesRead: Int, groups: Seq[RowGroup]) {

    /** Average stored bytes of a value of variable length, before compression. */
    def valueBytes(column: String): Option[Double] = {
      val rows = groups.map(_.rows).sum
      val sizes = groups.flatMap(_.sizes.get(column))
      Option.when(rows > 0 && sizes.nonEmpty)(sizes.sum.toDouble / rows)
    }

    /** The range over all row groups, None if one of them lacks it. */
    def range(column: String): Option[Range] = {
      val ranges = groups.filter(_.rows > 0).map(_.ranges.get(column))
      Option.when(ranges.nonEmpty && ranges.forall(_.isDefined)) {
        Range(ranges.map(_.get.min).min, ranges.map(_.get.max).max)
      }
    }
  }

  private val maxCached = 20000
  private type Key = (String, Long, Long)
  private val cache: JMap[Key, Seq[RowGroup]] = Collections.synchronizedMap(
    new JLinkedHashMap[Key, Seq[RowGroup]](64, 0.75f, true) {
      override def removeEldestEntry(e: JMap.Entry[Key, Seq[RowGroup]]): Boolean = size() > maxCached
    }
  )

  /** What the footers of this relation's files say; None if it is not Parquet, or nothing could be read. */
  def read(relation: HadoopFsRelation): Option[Table] = {
    val conf = SQLConf.get
    relation.location match {
      case index: PartitioningAwareFileIndex
          if conf.getConf(SpringbokConf.FOOTERS_ENABLED) && relation.fileFormat
            .isInstanceOf[ParquetFileFormat] =>
        val files = index.allFiles().filter(_.getLen > 0)
        if (files.isEmpty) None else sample(files, relation, conf)
      case _ => None
    }
  }

  private def sample(files: Seq[FileStatus], relation: HadoopFsRelation, conf: SQLConf): Option[Table] = {
    val limit = conf.getConf(SpringbokConf.FOOTERS_MAX_FILES)
    val end = System.nanoTime() + conf.getConf(SpringbokConf.FOOTERS_MAX_MS) * 1000000
    lazy val hadoop = relation.sparkSession.sessionState.newHadoopConfWithOptions(relation.options)
    val step = math.max(1.0, files.size.toDouble / limit)
    val chosen = Iterator.iterate(0.0)(_ + step).map(_.toInt).takeWhile(_ < files.size).map(files(_))
    val read = chosen
      .takeWhile(_ => System.nanoTime() < end)
      .flatMap(f => footer(f, hadoop).map(f.getLen -> _))
      .toSeq
    val bytesRead = read.map(_._1).sum.toDouble
    Option.when(bytesRead > 0) {
      val groups = read.flatMap(_._2)
      val scale = if (read.size == files.size) 1.0 else files.map(_.getLen).sum / bytesRead
      Table(groups.map(_.rows).sum * scale, files.size, read.size, groups)
    }
  }

  private def footer(file: FileStatus, hadoop: => Configuration): Option[Seq[RowGroup]] = {
    val key = (file.getPath.toString, file.getLen, file.getModificationTime)
    Option(cache.get(key)).orElse {
      try {
        val metadata = ParquetFooterReader.readFooter(HadoopInputFile.fromStatus(file, hadoop), NO_FILTER)
        val groups = metadata.getBlocks.asScala.map(rowGroup).toSeq
        cache.put(key, groups)
        Some(groups)
      } catch {
        case NonFatal(e) =>
          logDebug(s"The footer of ${file.getPath} cannot be read and is left out of the statistics.", e)
          None
      }
    }
  }

  private def rowGroup(block: BlockMetaData): RowGroup = {
    val ranges = block.getColumns.asScala.iterator
      .filter(c => c.getPath.size() == 1)
      .flatMap(c => range(c).map(c.getPath.toDotString -> _))
    val sizes = block.getColumns.asScala.iterator
      .filter(c => c.getPrimitiveType.getPrimitiveTypeName == PrimitiveTypeName.BINARY)
      .map(c => c.getPath.toDotString -> c.getTotalUncompressedSize)
    RowGroup(block.getRowCount, ranges.toMap, sizes.toMap)
  }

  private def range(chunk: ColumnChunkMetaData): Option[Range] = {
    val stats = chunk.getStatistics.asInstanceOf[Statistics[?]]
    Option.when(stats != null && stats.hasNonNullValue)(stats).flatMap { s =>
      unit(chunk).flatMap { scale =>
        (s.genericGetMin: Any, s.genericGetMax: Any) match {
          case (min: Number, max: Number) => Some(Range(min.doubleValue * scale, max.doubleValue * scale))
          case _ => None
        }
      }
    }
  }

  /** What a stored number counts for in Catalyst's unit, None where it is no number there. */
  private def unit(chunk: ColumnChunkMetaData): Option[Double] = {
    val t = chunk.getPrimitiveType
    (t.getPrimitiveTypeName, t.getLogicalTypeAnnotation) match {
      case (PrimitiveTypeName.INT32 | PrimitiveTypeName.INT64, d: DecimalLogicalTypeAnnotation) =>
        Some(math.pow(10, -d.getScale.toDouble))
      case (PrimitiveTypeName.INT64, ts: TimestampLogicalTypeAnnotation) =>
        ts.getUnit match {
          case TimeUnit.MILLIS => Some(1000.0)
          case TimeUnit.MICROS => Some(1.0)
          case TimeUnit.NANOS => Some(0.001)
        }
      case (PrimitiveTypeName.INT32 | PrimitiveTypeName.INT64, i: IntLogicalTypeAnnotation) =>
        Option.when(i.isSigned)(1.0)
      case (PrimitiveTypeName.INT32, null | _: DateLogicalTypeAnnotation) => Some(1.0)
      case (PrimitiveTypeName.INT64 | PrimitiveTypeName.FLOAT | PrimitiveTypeName.DOUBLE, null) => Some(1.0)
      case _ => None
    }
  }
}

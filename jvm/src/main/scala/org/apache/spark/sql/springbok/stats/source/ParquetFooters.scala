package org.apache.spark.sql.springbok.stats.source

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.format.converter.ParquetMetadataConverter.NO_FILTER
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.schema.LogicalTypeAnnotation._
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetFooterReader}

/** Row counts and column ranges from Parquet footers. */
object ParquetFooters {

  /** Smallest and largest value of a column in a row group, as numbers. */
  final case class Range(min: Double, max: Double) {
    def width: Double = max - min
  }

  /**
   * A row group, or an ORC file: per column its range, the bytes of its values, its nulls; of decimals in Parquet the
   * number of digits.
   */
  final case class RowGroup(
      rows: Long,
      ranges: Map[String, Range],
      sizes: Map[String, Long],
      nulls: Map[String, Long] = Map.empty,
      precisions: Map[String, Int] = Map.empty
  ) {

    /** Whether the column has no value at all here, and so no range. */
    def allNull(column: String): Boolean = nulls.get(column).contains(rows)
  }

  /**
   * What the footers say.
   *
   * @param rows
   *   rows of the whole table, scaled by bytes when not all files were read
   * @param groups
   *   the row groups of the files that were read
   * @param unreadable
   *   files that were opened in vain
   * @param plain
   *   whether columns in the files have the table's names, and all their rows are the table's
   */
  final case class Table(
      rows: Double,
      files: Int,
      filesRead: Int,
      groups: Seq[RowGroup],
      unreadable: Int = 0,
      plain: Boolean = true
  ) {
    def exact: Boolean = filesRead == files && plain

    // A table with many row groups is asked for the same columns at each planning and re-planning.
    private val known = new ConcurrentHashMap[(String, String), Option[Any]]()
    private def once[T](what: String, column: String)(value: => Option[T]): Option[T] =
      // What is computed may ask for another: a map does not allow that while it computes.
      Option(known.get((what, column)))
        .getOrElse {
          val found = value
          known.put((what, column), found): Unit
          found
        }
        .asInstanceOf[Option[T]]

    /** Part of the column's values that are null, None if a row group does not say. */
    def nullFraction(column: String): Option[Double] = once("nulls", column) {
      val nulls = groups.filter(_.rows > 0).map(_.nulls.get(column))
      Option.when(nulls.nonEmpty && nulls.forall(_.isDefined))(
        nulls.flatten.sum.toDouble / groups.map(_.rows).sum
      )
    }

    /**
     * Part of the rows in row groups that may have a value of the column within a range: a bound that holds however its
     * values are spread. 1 unless all files were read.
     */
    def within(column: String, low: Double, high: Double): Double =
      if (!exact || rows <= 0) 1.0
      else
        groups
          .filter(g => !g.allNull(column) && g.ranges.get(column).forall(r => r.min <= high && r.max >= low))
          .map(_.rows.toDouble)
          .sum / rows

    /** Average bytes of a value of variable length, before compression. */
    def valueBytes(column: String): Option[Double] = once("bytes", column) {
      val rows = groups.map(_.rows).sum
      val sizes = groups.flatMap(_.sizes.get(column))
      Option.when(rows > 0 && sizes.nonEmpty)(sizes.sum.toDouble / rows)
    }

    /**
     * How narrow row groups are, from 0 (each has values from the whole of the column's range) to nearly 1 (sorted); None
     * if a row group does not say.
     */
    def clustering(column: String): Option[Double] = once("clustering", column) {
      range(column).filter(_.width > 0).map { whole =>
        val each = groups.flatMap(_.ranges.get(column)).map(_.width)
        1 - each.sum / each.size / whole.width
      }
    }

    /** The range over all row groups with a value, None if one of them lacks it. */
    def range(column: String): Option[Range] = once("range", column) {
      val ranges = groups.filterNot(_.allNull(column)).filter(_.rows > 0).map(_.ranges.get(column))
      Option.when(ranges.nonEmpty && ranges.forall(_.isDefined)) {
        Range(ranges.map(_.get.min).min, ranges.map(_.get.max).max)
      }
    }
  }

  /** What the footers say, with what could not be read; None if the files are not Parquet. */
  private[springbok] def sample(relation: HadoopFsRelation): Option[Table] =
    FooterSample.of(relation, _.isInstanceOf[ParquetFileFormat]) { (file, hadoop) =>
      val metadata = ParquetFooterReader.readFooter(HadoopInputFile.fromStatus(file, hadoop), NO_FILTER)
      metadata.getBlocks.asScala.map(rowGroup).toSeq
    }

  private def rowGroup(block: BlockMetaData): RowGroup = {
    val ranges = block.getColumns.asScala.iterator
      .filter(c => c.getPath.size() == 1)
      .flatMap(c => range(c).map(c.getPath.toDotString -> _))
    val sizes = block.getColumns.asScala.toSeq
      .filter(c => c.getPath.size() > 1 || binary(c))
      .groupMapReduce(_.getPath.toArray.head)(valueBytes)(_ + _)
    val nulls = block.getColumns.asScala.iterator
      .filter(c => c.getPath.size() == 1 && c.getStatistics != null && c.getStatistics.isNumNullsSet)
      .map(c => c.getPath.toDotString -> c.getStatistics.getNumNulls)
    val precisions = block.getColumns.asScala.iterator.flatMap { c =>
      c.getPrimitiveType.getLogicalTypeAnnotation match {
        case d: DecimalLogicalTypeAnnotation => Some(c.getPath.toDotString -> d.getPrecision)
        case _ => None
      }
    }
    RowGroup(block.getRowCount, ranges.toMap, sizes, nulls.toMap, precisions.toMap)
  }

  private def binary(c: ColumnChunkMetaData): Boolean =
    c.getPrimitiveType.getPrimitiveTypeName == PrimitiveTypeName.BINARY

  /**
   * Bytes of a chunk's values in memory: what they take without a dictionary where the writer has counted it, else what is
   * stored; an element of an array, and where it is, takes a word.
   */
  private def valueBytes(c: ColumnChunkMetaData): Long = {
    val words = if (c.getPath.size() > 1) c.getValueCount * 8 else 0L
    val counted = Option(c.getSizeStatistics).filter(_.isValid).map(_.getUnencodedByteArrayDataBytes)
    words + (if (binary(c)) math.max(c.getTotalUncompressedSize, counted.fold(0L)(_.orElse(0L))) else 0L)
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

package org.apache.spark.sql.springbok.stats.source

import scala.jdk.CollectionConverters._

import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}
import org.apache.parquet.schema.LogicalTypeAnnotation._
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.springbok.catalyst.{SparkChunks, SparkFooters}
import org.apache.spark.sql.springbok.stats.estimate.ValueRange

/** Row counts and column ranges from Parquet footers. */
private[springbok] object ParquetFooters {

  /** What the footers say, with what could not be read; None if the files are not Parquet. */
  def sample(relation: HadoopFsRelation): Option[TableFooters] =
    FooterSample.of(relation, _.isInstanceOf[ParquetFileFormat]) { (file, hadoop) =>
      val metadata = SparkFooters.read(file, hadoop)
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
    val most = block.getColumns.asScala.iterator
      .filter(c => c.getPath.size() == 1 && binary(c))
      .flatMap(c => countedBytes(c).map(c.getPath.toDotString -> _))
    RowGroup(
      block.getRowCount,
      ranges.toMap,
      sizes,
      nulls.toMap,
      precisions.toMap,
      mostSizes = most.toMap
    )
  }

  private def binary(c: ColumnChunkMetaData): Boolean =
    c.getPrimitiveType.getPrimitiveTypeName == PrimitiveTypeName.BINARY

  /**
   * Bytes of a chunk's values in memory: their bytes without a dictionary, but no less than what is stored. Each element of an
   * array takes one more word.
   */
  private def valueBytes(c: ColumnChunkMetaData): Long = {
    val words = if (c.getPath.size() > 1) c.getValueCount * 8 else 0L
    def bytes = SparkChunks.unencodedBytes(c).getOrElse(if (c.hasDictionaryPage) decodedBytes(c) else 0L)
    words + (if (binary(c)) math.max(c.getTotalUncompressedSize, bytes) else 0L)
  }

  /** Bytes of a chunk's values that are not exceeded: as its writer has counted them, or as they are stored one after another. */
  private[source] def countedBytes(c: ColumnChunkMetaData): Option[Long] = SparkChunks
    .unencodedBytes(c)
    .orElse(Option.when(!c.hasDictionaryPage && storedWhole(c))(c.getTotalUncompressedSize))

  /** Whether each value is stored in full, in its page or in the dictionary: other encodings leave out what values begin with. */
  private[source] def storedWhole(c: ColumnChunkMetaData): Boolean =
    c.getEncodings.asScala.forall(e => e.usesDictionary || wholeEncodings(e.name))

  private val wholeEncodings = Set("PLAIN", "RLE", "BIT_PACKED", "DELTA_LENGTH_BYTE_ARRAY")

  /**
   * Bytes of the values of a chunk with a dictionary that its writer has not counted: each as long as the smallest and the
   * largest value on average. Writers leave those out where they are very long.
   */
  private def decodedBytes(c: ColumnChunkMetaData): Long = {
    val stats = Option(c.getStatistics.asInstanceOf[Statistics[?]])
    val each = stats
      .filter(_.hasNonNullValue)
      .fold(math.min(longBytes, c.getTotalUncompressedSize))(s =>
        (s.getMinBytes.length + s.getMaxBytes.length + 1L) / 2
      )
    (c.getValueCount - stats.filter(_.isNumNullsSet).fold(0L)(_.getNumNulls)) * each
  }

  /** Assumed bytes of a long value. */
  private val longBytes = 1024L

  private def range(chunk: ColumnChunkMetaData): Option[ValueRange] = {
    val stats = chunk.getStatistics.asInstanceOf[Statistics[?]]
    Option.when(stats != null && stats.hasNonNullValue)(stats).flatMap { s =>
      number(chunk).flatMap { value =>
        (s.genericGetMin: Any, s.genericGetMax: Any) match {
          case (min: Number, max: Number) =>
            Some(ValueRange(value(min), value(max)))
          case _ => None
        }
      }
    }
  }

  /** A stored number in Catalyst's unit, None if it is not a number there. */
  private[source] def number(chunk: ColumnChunkMetaData): Option[Number => Double] = {
    val t = chunk.getPrimitiveType
    val plain = Option[Number => Double](_.doubleValue)
    (t.getPrimitiveTypeName, t.getLogicalTypeAnnotation) match {
      case (PrimitiveTypeName.INT32 | PrimitiveTypeName.INT64, d: DecimalLogicalTypeAnnotation) =>
        // The double that is next to the decimal, as that of a literal: a product may be another one.
        Some(n => java.math.BigDecimal.valueOf(n.longValue, d.getScale).doubleValue)
      case (PrimitiveTypeName.INT64, ts: TimestampLogicalTypeAnnotation) =>
        ts.getUnit match {
          case TimeUnit.MILLIS => Some(_.doubleValue * 1000)
          case TimeUnit.MICROS => plain
          // Spark reads them as plain numbers, if at all.
          case TimeUnit.NANOS => None
        }
      case (PrimitiveTypeName.INT32 | PrimitiveTypeName.INT64, i: IntLogicalTypeAnnotation) =>
        plain.filter(_ => i.isSigned)
      case (PrimitiveTypeName.INT32, null | _: DateLogicalTypeAnnotation) => plain
      case (PrimitiveTypeName.INT64 | PrimitiveTypeName.FLOAT | PrimitiveTypeName.DOUBLE, null) => plain
      case _ => None
    }
  }
}

package org.apache.spark.sql.springbok.stats.source

import java.util.SplittableRandom

import scala.collection.mutable.ArrayBuffer
import scala.util.Random

import org.apache.datasketches.hll.{HllSketch, Union}
import org.apache.parquet.column.ColumnReader
import org.apache.parquet.column.impl.ColumnReadStoreImpl
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData
import org.apache.parquet.io.api.{Converter, GroupConverter, PrimitiveConverter}
import org.apache.parquet.schema.MessageType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName
import org.apache.spark.sql.springbok.stats.estimate.SampledRows
import org.apache.spark.sql.springbok.stats.source.RowGroupValues.{Counted, Many, Numbers}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Rows of a Parquet column chunk: of strings whose dictionary does not tell how frequent a value is, and of numbers whose
 * range does not. The chunk is read as a whole, because values may lie in runs: no part of it stands for the rest.
 */
private[source] object ChunkSample {

  /** Larger chunks are not read: bytes as stored, bytes of all strings, strings, numbers. */
  private val maxStored = 4L << 20
  private val maxBytes = 16L << 20
  private val maxTexts = 200000L
  val maxNumbers: Long = 1500000L

  /** Rows of a sample. A predicate that holds for a tenth of the rows holds for 8% to 12% of these. */
  private val size = 2000

  /** Whether a chunk of strings is small enough, as far as its footer tells. */
  def hasFewTexts(c: ColumnChunkMetaData): Boolean =
    RowGroupValues.isBinary(c) && isSmall(c, maxTexts) && c.getTotalUncompressedSize <= maxBytes

  private def isSmall(c: ColumnChunkMetaData, most: Long): Boolean =
    c.getPath.size == 1 && c.getTotalSize <= maxStored && c.getValueCount <= most

  /** About 2000 rows of a chunk with few strings; None if they turn out to be too long. */
  def texts(reader: ParquetFileReader, group: Int, c: ColumnChunkMetaData): Option[Many] = {
    val sketch = DistinctSample.sketch()
    val rows = ArrayBuffer.empty[UTF8String]
    var (present, bytes) = (0L, 0L)
    foreachValue(reader, group, c, bytes <= maxBytes) { (column, isChosen) =>
      val value = column.getBinary.getBytes
      present += 1
      bytes += value.length
      sketch.update(value)
      if (isChosen) rows += UTF8String.fromBytes(value)
    }
    Option.when(bytes <= maxBytes)(
      Many(
        math.min(sketch.getEstimate, present.toDouble),
        mostOfOne = 1.0,
        Some(sample(rows, present.toDouble))
      )
    )
  }

  /** About 2000 rows of a chunk of numbers, in Catalyst's unit; None if there are many, or Spark reads no number there. */
  def numbers(reader: ParquetFileReader, group: Int, c: ColumnChunkMetaData): Option[Numbers] =
    for (inCatalyst <- ParquetFooters.number(c) if isSmall(c, maxNumbers); stored <- number(c)) yield {
      val rows = ArrayBuffer.empty[Double]
      foreachValue(reader, group, c, more = true) { (column, isChosen) =>
        if (isChosen) rows += inCatalyst(stored(column))
      }
      Numbers(sample(rows, RowGroupValues.present(c).toDouble))
    }

  private def number(c: ColumnChunkMetaData): Option[ColumnReader => Number] =
    c.getPrimitiveType.getPrimitiveTypeName match {
      case PrimitiveTypeName.INT32 => Some(_.getInteger)
      case PrimitiveTypeName.INT64 => Some(_.getLong)
      case PrimitiveTypeName.FLOAT => Some(_.getFloat)
      case PrimitiveTypeName.DOUBLE => Some(_.getDouble)
      case _ => None
    }

  private def sample[A](rows: ArrayBuffer[A], present: Double): SampledRows =
    SampledRows(new Random(0).shuffle(rows).toIndexedSeq, present)

  /**
   * Gives each value that is not null, and whether its row is chosen for the sample.
   *
   * @param more
   *   whether to go on
   */
  private def foreachValue(
      reader: ParquetFileReader,
      group: Int,
      c: ColumnChunkMetaData,
      more: => Boolean
  )(value: (ColumnReader, Boolean) => Unit): Unit = {
    val file = reader.getFileMetaData.getSchema
    val column = file.getColumnDescription(c.getPath.toArray)
    val schema = new MessageType(file.getName, file.getFields.get(file.getFieldIndex(column.getPath.head)))
    reader.setRequestedSchema(schema)
    val pages = reader.readRowGroup(group)
    val values = new ColumnReadStoreImpl(pages, NoRecords, schema, reader.getFileMetaData.getCreatedBy)
      .getColumnReader(column)
    val chosen = new StratifiedChoice(math.max(1L, c.getValueCount / size))
    var row = 0L
    while (row < c.getValueCount && more) {
      val isChosen = chosen(row)
      if (values.getCurrentDefinitionLevel == column.getMaxDefinitionLevel) {
        value(values, isChosen)
        // The reader passes over a value only if it is told to.
        values.skip()
      }
      values.consume()
      row += 1
    }
  }

  /** Chooses one row of each so many, at random: rows in equal distances may all have the same value. */
  final private class StratifiedChoice(rows: Long) {
    private val random = new SplittableRandom(0)
    private var next = 0L

    /** Whether a row is chosen. Is asked for each row in order. */
    def apply(row: Long): Boolean = {
      if (row % rows == 0) next = row + random.nextLong(rows)
      row == next
    }
  }

  /** The column's reader needs a converter. No records are made. */
  private object NoRecords extends GroupConverter {
    private object NoValues extends PrimitiveConverter
    override def getConverter(field: Int): Converter = NoValues
    override def start(): Unit = ()
    override def end(): Unit = ()
  }
}

/** The number of distinct values of a column, from the values of some of its row groups. */
private[source] object DistinctSample {

  /** Row groups with a smaller fraction of their values in common have none in common: the sketches err by 1.6%. */
  private val noise = 0.05

  /** Counts distinct values: 4096 counters have an error of 1.6%. */
  def sketch(): HllSketch = new HllSketch(12)

  /**
   * About how many distinct values there are.
   *
   *   - If all row groups were read: those of all together.
   *   - If the two largest have `m` values in common, of `d1` and `d2`, each of them is a random sample of `d1 * d2 / m`
   *     values (the Lincoln-Petersen estimate).
   *   - If they have none in common, as in a sorted column, each has values of its own, and there are as many values for
   *     each row as in these row groups. The same bounds the estimate before.
   *   - If one of them has so few values that the sketches cannot tell how many are in common: unknown.
   *
   * @param rows
   *   rows of the table that are not null
   * @param whole
   *   whether these are all row groups
   */
  def count(groups: Seq[Counted], rows: Double, whole: Boolean): Option[Double] =
    groups.filter(_.present > 0).sortBy(-_.present).toList match {
      case Nil => None
      case some if whole => Some(union(some))
      case only :: Nil => Some(only.distinct / only.present * rows)
      case a :: b :: _ =>
        val perRow = groups.map(_.distinct).sum / groups.map(_.present).sum * rows
        val all = union(Seq(a, b))
        val common = a.distinct + b.distinct - all
        if (math.min(a.distinct, b.distinct) < 2 * noise * all) None
        else if (common < noise * all) Some(perRow)
        else Some(math.min(perRow, math.max(all, a.distinct * b.distinct / common)))
    }

  private def union(groups: Seq[Counted]): Double =
    if (groups.size == 1) groups.head.distinct
    else {
      val union = new Union(groups.head.sketch.getLgConfigK)
      groups.foreach(g => union.update(g.sketch))
      math.max(groups.map(_.distinct).max, union.getEstimate)
    }
}

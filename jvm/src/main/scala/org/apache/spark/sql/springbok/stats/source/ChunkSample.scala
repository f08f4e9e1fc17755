package org.apache.spark.sql.springbok.stats.source

import java.util.SplittableRandom

import scala.collection.mutable.ArrayBuffer
import scala.util.Random

import org.apache.parquet.column.impl.ColumnReadStoreImpl
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData
import org.apache.parquet.io.api.{Converter, GroupConverter, PrimitiveConverter}
import org.apache.parquet.schema.MessageType
import org.apache.spark.sql.springbok.stats.estimate.SampledRows
import org.apache.spark.sql.springbok.stats.source.RowGroupValues.Many
import org.apache.spark.unsafe.types.UTF8String

/**
 * Rows of a Parquet column chunk of strings, for columns whose dictionary does not tell how frequent a value is. The chunk is
 * read as a whole, because values may lie in runs: no part of it stands for the rest.
 */
private[source] object ChunkSample {

  /** Larger chunks are not read: bytes as stored, bytes of all values, values. */
  private val maxStored = 4L << 20
  private val maxBytes = 16L << 20
  private val maxValues = 200000L

  /** Rows of a sample. A predicate that holds for a tenth of the rows holds for 8% to 12% of these. */
  private val size = 2000

  /** Whether a chunk is small enough, as far as its footer tells. */
  def isSmall(c: ColumnChunkMetaData): Boolean =
    RowGroupValues.isBinary(c) && c.getPath.size == 1 && c.getTotalSize <= maxStored &&
      c.getTotalUncompressedSize <= maxBytes && c.getValueCount <= maxValues

  /** About 2000 rows of a small chunk; None if its values turn out to be too long. */
  def read(reader: ParquetFileReader, group: Int, c: ColumnChunkMetaData): Option[Many] = {
    val file = reader.getFileMetaData.getSchema
    val column = file.getColumnDescription(c.getPath.toArray)
    val schema = new MessageType(file.getName, file.getFields.get(file.getFieldIndex(column.getPath.head)))
    reader.setRequestedSchema(schema)
    val store = new ColumnReadStoreImpl(
      reader.readRowGroup(group),
      NoRecords,
      schema,
      reader.getFileMetaData.getCreatedBy
    )
    val values = store.getColumnReader(column)
    val chosen = new StratifiedChoice(math.max(1L, c.getValueCount / size))
    val sketch = DistinctSample.sketch()
    val rows = ArrayBuffer.empty[UTF8String]
    var (row, present, bytes) = (0L, 0L, 0L)
    while (row < c.getValueCount && bytes <= maxBytes) {
      val isChosen = chosen(row)
      if (values.getCurrentDefinitionLevel == column.getMaxDefinitionLevel) {
        val value = values.getBinary.getBytes
        present += 1
        bytes += value.length
        sketch.update(value)
        if (isChosen) rows += UTF8String.fromBytes(value)
      }
      values.consume()
      row += 1
    }
    Option.when(bytes <= maxBytes) {
      val sample = SampledRows(new Random(0).shuffle(rows).toIndexedSeq, present.toDouble)
      Many(math.min(sketch.getEstimate, present.toDouble), mostOfOne = 1.0, Some(sample))
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

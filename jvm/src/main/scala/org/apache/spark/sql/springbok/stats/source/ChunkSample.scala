package org.apache.spark.sql.springbok.stats.source

import java.util.SplittableRandom

import scala.collection.mutable.ArrayBuffer
import scala.util.Random

import org.apache.datasketches.hll.HllSketch
import org.apache.parquet.column.impl.ColumnReadStoreImpl
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData
import org.apache.parquet.io.api.{Converter, GroupConverter, PrimitiveConverter}
import org.apache.parquet.schema.MessageType
import org.apache.spark.sql.springbok.stats.estimate.SampledRows
import org.apache.spark.sql.springbok.stats.source.RowGroupValues.Many
import org.apache.spark.unsafe.types.UTF8String

/**
 * Rows of a Parquet column chunk of texts, for columns whose dictionary does not tell how frequent a value is. The chunk is
 * read as a whole, because values may lie in runs: no part of it stands for the rest.
 */
private[source] object ChunkSample {

  /** Larger chunks are not read: bytes as stored, bytes in memory, values. */
  private val maxStored = 4L << 20
  private val maxBytes = 16L << 20
  private val maxValues = 500000L

  /** Rows of a sample: a predicate that holds for a tenth of the rows holds for 9% to 11% of these. */
  private val size = 2000

  /** 4096 counters: an error of 1.6%. */
  private val logCounters = 12

  /** About 2000 rows of a chunk; None if the chunk is too large. */
  def read(reader: ParquetFileReader, group: Int, c: ColumnChunkMetaData): Option[Many] = {
    val file = reader.getFileMetaData.getSchema
    val column = file.getColumnDescription(c.getPath.toArray)
    val small = c.getTotalSize <= maxStored && c.getTotalUncompressedSize <= maxBytes &&
      c.getValueCount <= maxValues
    Option.when(RowGroupValues.isBinary(c) && small && column.getPath.length == 1) {
      val schema = new MessageType(file.getName, file.getFields.get(file.getFieldIndex(column.getPath.head)))
      reader.setRequestedSchema(schema)
      val pages = reader.readRowGroup(group)
      val store = new ColumnReadStoreImpl(pages, NoRecords, schema, reader.getFileMetaData.getCreatedBy)
      val values = store.getColumnReader(column)
      val chosen = new OneOfEach(math.max(1L, c.getValueCount / size))
      val sketch = new HllSketch(logCounters)
      val rows = ArrayBuffer.empty[UTF8String]
      var present = 0L
      for (i <- 0L until c.getValueCount) {
        val isChosen = chosen(i)
        if (values.getCurrentDefinitionLevel == column.getMaxDefinitionLevel) {
          val bytes = values.getBinary.getBytes
          present += 1
          sketch.update(bytes)
          if (isChosen) rows += UTF8String.fromBytes(bytes)
        }
        values.consume()
      }
      val sample = SampledRows(new Random(0).shuffle(rows).toIndexedSeq, present.toDouble)
      Many(math.min(sketch.getEstimate, present.toDouble), mostOfOne = 1.0, Some(sample))
    }
  }

  /** Chooses one row of each so many, at random: rows in equal distances may all have the same value. */
  final private class OneOfEach(rows: Long) {
    private val random = new SplittableRandom(0)
    private var next = 0L

    /** Whether a row is chosen. Is asked for each row in order. */
    def apply(row: Long): Boolean = {
      if (row % rows == 0) next = row + random.nextLong(rows)
      row == next
    }
  }

  /** The reader of a column asks for what makes records of it, and is asked for no records. */
  private object NoRecords extends GroupConverter {
    private object NoValues extends PrimitiveConverter
    override def getConverter(field: Int): Converter = NoValues
    override def start(): Unit = ()
    override def end(): Unit = ()
  }
}

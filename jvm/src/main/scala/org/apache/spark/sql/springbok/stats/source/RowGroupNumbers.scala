package org.apache.spark.sql.springbok.stats.source

import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName

/** The distinct values of an integral column in a Parquet row group, counted in its dictionary. */
private[source] object RowGroupNumbers {

  /** Larger dictionaries are not read; parquet-java gives up at a MB before compression. */
  private val maxStored = 2L << 20

  def is(c: ColumnChunkMetaData): Boolean = c.getPrimitiveType.getPrimitiveTypeName match {
    case PrimitiveTypeName.INT32 | PrimitiveTypeName.INT64 => true
    case _ => false
  }

  /** None if the chunk has values that are not in a dictionary, or the dictionary is large. */
  def read(
      reader: ParquetFileReader,
      g: BlockMetaData,
      c: ColumnChunkMetaData
  ): Option[RowGroupValues.Counted] = {
    val stored = c.getFirstDataPageOffset - c.getStartingPos
    val readable =
      c.hasDictionaryPage && stored > 0 && stored <= maxStored && RowGroupValues.onlyDictionary(c)
    if (!readable) None
    else
      RowGroupValues.dictionary(reader, g, c).map { case (_, decode) =>
        val values = decode()
        val int = c.getPrimitiveType.getPrimitiveTypeName == PrimitiveTypeName.INT32
        val sketch = DistinctSample.sketch()
        for (i <- 0 to values.getMaxId)
          sketch.update(if (int) values.decodeToInt(i).toLong else values.decodeToLong(i))
        RowGroupValues.Counted(values.getMaxId + 1.0, RowGroupValues.present(c).toDouble, sketch)
      }
  }
}

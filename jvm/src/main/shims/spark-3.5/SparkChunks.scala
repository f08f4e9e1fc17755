package org.apache.spark.sql.springbok.catalyst

import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData

/** Column chunks of Parquet files, where versions of Parquet differ. */
object SparkChunks {

  /** Bytes of a chunk's values without a dictionary, if the writer has counted them. */
  def unencodedBytes(c: ColumnChunkMetaData): Option[Long] = None
}

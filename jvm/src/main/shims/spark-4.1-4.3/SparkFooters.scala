package org.apache.spark.sql.springbok.catalyst

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.parquet.format.converter.ParquetMetadataConverter.NO_FILTER
import org.apache.parquet.hadoop.metadata.ParquetMetadata
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.spark.sql.execution.datasources.parquet.ParquetFooterReader

/** Reads footers of Parquet files as Spark does. */
object SparkFooters {
  def read(file: FileStatus, hadoop: Configuration): ParquetMetadata =
    ParquetFooterReader.readFooter(HadoopInputFile.fromStatus(file, hadoop), NO_FILTER)
}

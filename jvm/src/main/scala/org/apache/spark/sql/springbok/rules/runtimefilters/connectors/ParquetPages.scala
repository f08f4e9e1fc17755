package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.parquet.hadoop.ParquetInputFormat
import org.apache.spark.sql.catalyst.expressions.IsNotNull
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetUtils}
import org.apache.spark.sql.types.StructType

/**
 * Which Parquet scans may skip pages by a predicate that is added at run time.
 *
 * parquet-java's record reader may return a value of an earlier row when the column index leaves out pages
 * (https://github.com/apache/parquet-java/issues/3747). Spark's vectorized reader does not use it. Every other reader of Parquet
 * files is taken for one that does: Spark's for types that are not read in batches, and those of other formats. These scans
 * get the predicate with the column index switched off. They skip row groups by statistics, dictionaries and bloom filters,
 * and read the pages of the other row groups in full, which keeps the values of a row together.
 */
private[runtimefilters] object ParquetPages {
  private val delta = "org.apache.spark.sql.delta.DeltaParquetFileFormat"

  /** The option that the reader needs with a predicate. */
  def option(scan: FileSourceScanExec): Option[(String, String)] = scan.relation.fileFormat match {
    case f: ParquetFileFormat if !(isSparks(f) && readsBatches(scan)) =>
      Some(ParquetInputFormat.COLUMN_INDEX_FILTERING_ENABLED -> "false")
    case _ => None
  }

  /** Whether Spark has pushed predicates by which the scan may skip pages. Without the column index, it would read them. */
  def prunesByItself(scan: FileSourceScanExec): Boolean = scan.dataFilters.exists(!_.isInstanceOf[IsNotNull])

  /** Delta's format only adds columns to what Spark's reader returns. */
  private def isSparks(f: ParquetFileFormat): Boolean =
    f.getClass == classOf[ParquetFileFormat] || f.getClass.getName == delta

  /** As `ParquetFileFormat` decides it. A scan of too many columns for generated code reads batches and returns rows. */
  private def readsBatches(scan: FileSourceScanExec): Boolean = ParquetUtils.isBatchReadSupportedForSchema(
    scan.conf,
    StructType(scan.relation.partitionSchema ++ scan.requiredSchema)
  )
}

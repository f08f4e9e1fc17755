package org.apache.spark.sql.springbok.stats.source

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, FileIndex, PartitioningAwareFileIndex}
import org.apache.spark.sql.springbok.catalyst.Interrupted
import org.apache.spark.sql.types.{StructField, StructType}

/**
 * The names that the columns of a table have in its files. Delta's column mapping gives a column a physical name that stays
 * when the column is renamed, and that no later column gets.
 *
 * @param physical
 *   the name in the files by the name in the table; empty if all names are the same
 */
final private[springbok] case class FileColumnNames(physical: Map[String, String]) {
  private val logical = physical.map(_.swap)

  /** The name in the files. */
  def inFiles(column: String): String = physical.getOrElse(column, column)

  /** The row group with the table's names. It loses the columns that the table has dropped. */
  def ofTable(g: RowGroup): RowGroup = if (physical.isEmpty) g else g.named(logical.get)
}

private[springbok] object FileColumnNames extends Logging {
  val same: FileColumnNames = FileColumnNames(Map.empty)

  /** Delta's, in a field's metadata: its protocol fixes the key. */
  private val key = "delta.columnMapping.physicalName"

  /** The names of a table that its format's index describes. Delta is no dependency, so its schema is asked for by name. */
  def of(index: FileIndex): FileColumnNames = index match {
    case _: CatalogFileIndex | _: PartitioningAwareFileIndex => same
    case _ => described(index)
  }

  private def described(index: FileIndex): FileColumnNames =
    try
      index.getClass.getMethod("schema").invoke(index) match {
        case schema: StructType if schema.exists(mapped) =>
          FileColumnNames(
            schema.map(f => f.name -> (if (mapped(f)) f.metadata.getString(key) else f.name)).toMap
          )
        case _ => same
      }
    catch {
      case e @ Interrupted() => throw e
      case _: NoSuchMethodException => same
      case NonFatal(e) =>
        logDebug(
          s"${index.getClass.getName} does not tell its schema: its columns are taken to have their own names.",
          e
        )
        same
    }

  private def mapped(f: StructField): Boolean = f.metadata.contains(key)
}

package org.apache.spark.sql.springbok.stats.source

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.orc.{OrcFile => OrcFiles, _}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.datasources.{
  CatalogFileIndex,
  FileIndex,
  HadoopFsRelation,
  PartitioningAwareFileIndex
}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.springbok.catalyst.Interrupted
import org.apache.spark.sql.springbok.stats.estimate.ValueRange
import org.apache.spark.sql.types.{StructField, StructType}

/** Row counts and column ranges from ORC footers; each stripe counts as one row group. */
private[springbok] object OrcFooters {
  def sample(relation: HadoopFsRelation): Option[TableFooters] =
    FooterSample.of(relation, _.isInstanceOf[OrcFileFormat]) { (file, hadoop) =>
      val reader = OrcFiles.createReader(file.getPath, OrcFiles.readerOptions(hadoop))
      try stripes(reader)
      finally reader.close()
    }

  /** Whether ORC's reader takes a table's columns by their positions in the files, and not by their names. */
  def readByPosition(relation: HadoopFsRelation): Boolean =
    OrcConf.FORCE_POSITIONAL_EVOLUTION.getBoolean(
      relation.sparkSession.sessionState.newHadoopConfWithOptions(relation.options)
    )

  private def stripes(reader: Reader): Seq[RowGroup] = {
    val (rows, stats) = (reader.getStripes.asScala.map(_.getNumberOfRows), reader.getStripeStatistics.asScala)
    val schema = reader.getSchema
    // A file may lack statistics of its stripes.
    if (rows.size == stats.size)
      rows.zip(stats).map { case (n, s) => rowGroup(schema, n, s.getColumnStatistics) }.toSeq
    else Seq(rowGroup(schema, reader.getNumberOfRows, reader.getStatistics))
  }

  private def rowGroup(schema: TypeDescription, rows: Long, stats: Array[ColumnStatistics]): RowGroup = {
    val columns = for {
      (name, t) <- schema.getFieldNames.asScala.zip(schema.getChildren.asScala).toSeq
      if t.getId < stats.length
    } yield (name, t, stats(t.getId))
    val sizes = columns.flatMap { case (name, _, s) => bytes(s).map(name -> _) }.toMap
    RowGroup(
      rows,
      columns.flatMap { case (name, t, s) => range(t, s).map(name -> _) }.toMap,
      sizes,
      columns.map { case (name, _, s) => name -> (rows - s.getNumberOfValues) }.toMap,
      types = columns.map { case (name, t, _) => name -> typeName(t) }.toMap,
      mostSizes = sizes
    )
  }

  /** Spark's name of the type, where it stores one as another, such as an interval as a number. */
  private def typeName(t: TypeDescription): String =
    Option(t.getAttributeValue("spark.sql.catalyst.type")).getOrElse(t.getCategory.getName)

  private def bytes(s: ColumnStatistics): Option[Long] = s match {
    case text: StringColumnStatistics if text.getSum > 0 => Some(text.getSum)
    case binary: BinaryColumnStatistics if binary.getSum > 0 => Some(binary.getSum)
    case _ => None
  }

  private def range(t: TypeDescription, s: ColumnStatistics): Option[ValueRange] = s match {
    case i: IntegerColumnStatistics if i.getNumberOfValues > 0 =>
      Some(ValueRange(i.getMinimum.toDouble, i.getMaximum.toDouble))
    // ORC keeps NaN for both ends if it is the first value.
    case d: DoubleColumnStatistics if d.getNumberOfValues > 0 && !d.getMinimum.isNaN && !d.getMaximum.isNaN =>
      Some(ValueRange(d.getMinimum, d.getMaximum))
    case d: DateColumnStatistics if d.getNumberOfValues > 0 =>
      Some(ValueRange(d.getMinimumDayOfEpoch.toDouble, d.getMaximumDayOfEpoch.toDouble))
    case d: DecimalColumnStatistics
        if d.getNumberOfValues > 0 && t.getCategory == TypeDescription.Category.DECIMAL =>
      Some(ValueRange(d.getMinimum.doubleValue, d.getMaximum.doubleValue))
    case _ => None
  }
}

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

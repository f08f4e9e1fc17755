package org.apache.spark.sql.springbok.stats.source

import scala.jdk.CollectionConverters._

import org.apache.orc._
import org.apache.orc.{OrcFile => OrcFiles}
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.springbok.stats.estimate.ValueRange

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

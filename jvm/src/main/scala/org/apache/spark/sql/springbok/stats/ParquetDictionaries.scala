package org.apache.spark.sql.springbok.stats

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.column.page.DictionaryPageReadStore
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName
import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.SpringbokConf
import org.apache.spark.unsafe.types.UTF8String

/**
 * The distinct values of string columns as the dictionaries of Parquet column chunks hold them: what a footer's smallest and
 * largest value do not tell of strings. A few row groups of the first and the last file are looked at; of a table with more
 * of them the values count only if those hold about the same ones, which a table that is sorted by the column does not.
 */
private[stats] object ParquetDictionaries extends Logging {

  /** Larger dictionaries are not read: bytes as they are stored, and values. */
  private val maxBytes = 256L << 10
  private val maxValues = 20000
  private val groupsOfFile = 2
  private val maxCached = 200

  /** How many times the values of one row group those of all that were looked at may be. */
  private val spread = 1.25

  private type Values = Set[UTF8String]

  /** What the row groups of a file hold that were looked at, and whether those were all. */
  final private case class FileValues(groups: Seq[Values], whole: Boolean)
  private val cache = RecentlyUsed.map[(String, Option[Long], Long, String), Option[FileValues]](maxCached)

  /** The values of a column; None if they are not known, or too many. */
  def of(relation: HadoopFsRelation, column: String): Option[ColumnValues] = {
    val conf = SQLConf.get
    val wanted =
      conf.getConf(SpringbokConf.DICTIONARIES_ENABLED) && conf.getConf(SpringbokConf.FOOTERS_ENABLED) &&
        relation.fileFormat.isInstanceOf[ParquetFileFormat]
    // A table format may know a file's columns by other names.
    val files = if (wanted) TableFiles.of(relation.location).filter(f => f.listed && f.size > 0) else None
    files.flatMap { files =>
      val end = System.nanoTime() + conf.getConf(SpringbokConf.FOOTERS_MAX_MS) * 1000000
      lazy val hadoop = relation.sparkSession.sessionState.newHadoopConfWithOptions(relation.options)
      val chosen = Seq(0, files.size - 1).distinct.map(files(_))
      val read = chosen.takeWhile(_ => System.nanoTime() < end).map(file(_, column, hadoop))
      Option
        .when(read.size == chosen.size && read.forall(_.isDefined))(read.flatten)
        .flatMap(together(_, files.size))
    }
  }

  private def together(read: Seq[FileValues], files: Int): Option[ColumnValues] = {
    val groups = read.flatMap(_.groups).filter(_.nonEmpty)
    val whole = read.size == files && read.forall(_.whole)
    val all = groups.foldLeft[Values](Set.empty)(_ ++ _)
    val alike = groups.forall(_.size * spread >= all.size)
    Option.when(all.nonEmpty && (whole || alike))(ColumnValues(all.toIndexedSeq, whole))
  }

  private def file(file: TableFile, column: String, hadoop: => Configuration): Option[FileValues] = {
    val key = (file.path.toString, file.bytes, file.changed, column)
    Option(cache.get(key)).getOrElse {
      val found =
        try read(file, column, hadoop)
        catch {
          case NonFatal(e) =>
            logDebug(s"The dictionary of $column in ${file.path} cannot be read.", e)
            None
        }
      cache.put(key, found)
      found
    }
  }

  private def read(file: TableFile, column: String, hadoop: Configuration): Option[FileValues] = {
    val input = HadoopInputFile.fromStatus(file.status(hadoop), hadoop)
    val reader = ParquetFileReader.open(input, HadoopReadOptions.builder(hadoop, file.path).build())
    try {
      val groups = reader.getRowGroups.asScala.filter(_.getRowCount > 0).toSeq
      val chosen = (groups.take(1) ++ groups.drop(1).takeRight(groupsOfFile - 1))
        .map(g => g -> g.getColumns.asScala.find(_.getPath.toDotString == column))
      Option
        .when(groups.nonEmpty && chosen.forall(_._2.exists(small)))(())
        .map(_ => chosen.collect { case (g, Some(c)) => values(reader, g, c) })
        .filter(_.forall(_.isDefined))
        .map(found => FileValues(found.flatten, chosen.size == groups.size))
    } finally reader.close()
  }

  /** Whether all values of a chunk are in its dictionary, and those are few. A writer gives up larger ones than these. */
  private def small(c: ColumnChunkMetaData): Boolean =
    c.getPrimitiveType.getPrimitiveTypeName == PrimitiveTypeName.BINARY && (allNull(c) ||
      c.hasDictionaryPage && c.getFirstDataPageOffset - c.getStartingPos <= maxBytes &&
      Option(c.getEncodingStats).forall(!_.hasNonDictionaryEncodedPages))

  private def allNull(c: ColumnChunkMetaData): Boolean =
    c.getStatistics != null && c.getStatistics.isNumNullsSet && c.getStatistics.getNumNulls == c.getValueCount

  private def values(reader: ParquetFileReader, g: BlockMetaData, c: ColumnChunkMetaData): Option[Values] =
    if (allNull(c)) Some(Set.empty)
    else {
      val descriptor =
        reader.getFileMetaData.getSchema.getColumnDescription(c.getPath.toArray)
      val pages: DictionaryPageReadStore = reader.getDictionaryReader(g)
      Option(pages.readDictionaryPage(descriptor))
        .filter(_.getDictionarySize <= maxValues)
        .map { page =>
          val dictionary = page.getEncoding.initDictionary(descriptor, page)
          (0 to dictionary.getMaxId)
            .map(i => UTF8String.fromBytes(dictionary.decodeToBinary(i).getBytes))
            .toSet
        }
    }
}

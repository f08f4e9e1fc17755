package org.apache.spark.sql.springbok.stats.source

import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.column.page.DictionaryPageReadStore
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.apache.spark.sql.springbok.stats.estimate.{ColumnValues, FewValues, ManyValues, Selectivity}
import org.apache.spark.unsafe.types.UTF8String

/**
 * The distinct values of a table's string columns as the dictionaries of Parquet column chunks hold them: what a footer's
 * smallest and largest value do not tell of strings. A few row groups of the first and the last file are looked at; of a
 * table with more of them the values count only if those hold about the same ones, which a table that is sorted by the
 * column does not. Where a writer gave up the dictionary of such a column but not those of others, there are many values.
 */
final private[springbok] class ParquetDictionaries(relation: HadoopFsRelation) {
  import ParquetDictionaries._

  // A table format may know a file's columns by other names.
  private lazy val files = {
    val conf = SQLConf.get
    val wanted =
      conf.getConf(SpringbokConf.DICTIONARIES_ENABLED) && conf.getConf(SpringbokConf.FOOTERS_ENABLED) &&
        relation.fileFormat.isInstanceOf[ParquetFileFormat]
    if (wanted) TableFiles.of(relation.location).filter(f => f.listed && f.size > 0) else None
  }
  private lazy val hadoop = relation.sparkSession.sessionState.newHadoopConfWithOptions(relation.options)

  /** What is left of the time for the table, all its columns together. */
  private lazy val leftNs = new AtomicLong(SQLConf.get.getConf(SpringbokConf.FOOTERS_MAX_MS) * 1000000)

  /** Whether the column's values are in the names of folders, not in the files. */
  def isPartition(a: Attribute): Boolean = relation.partitionSchema.exists(_.name == a.name)

  /** The values of a column, or that they are many; None if neither is known. */
  def of(column: String): Option[ColumnValues] = files.flatMap { files =>
    val start = System.nanoTime()
    val end = start + leftNs.get()
    val chosen = Seq(0, files.size - 1).distinct.map(files(_))
    val found = chosen.map(f => cache((f, column), end)(read(f, column, hadoop)).flatten.flatten)
    leftNs.addAndGet(start - System.nanoTime()): Unit
    if (found.contains(None)) None else together(found.flatten, files.size)
  }
}

private[springbok] object ParquetDictionaries {

  /** Larger dictionaries are not read: bytes as they are stored and as they are, and values. */
  private val maxStored = 256L << 10
  private val maxBytes = 1 << 20
  private val maxValues = 10000
  private val groupsOfFile = 2

  /** How many times the values of one row group those of all that were looked at may be. */
  private val spread = 1.25

  /** What a row group tells of a column's values. */
  sealed private trait GroupValues

  /** All of them, and whether they are there about as often as each other, in no long runs. */
  final private case class Few(values: Set[UTF8String], even: Boolean) extends GroupValues

  /** So many about, at least; one of them in this part of the rows at most. */
  final private case class Many(distinct: Double, mostOfOne: Double) extends GroupValues

  /** What the row groups of a file hold that were looked at, and whether those were all. */
  final private case class FileValues(groups: Seq[GroupValues], whole: Boolean)
  private val cache = new FileCache[(TableFile, String), Option[FileValues]](_.fold(0L)(heap))

  /** Bytes of the heap, roughly: of a value those of its place and its objects besides its own. */
  private def heap(of: FileValues): Long = of.groups.collect { case f: Few =>
    f.values.iterator.map(_.numBytes + 100L).sum
  }.sum

  private def together(read: Seq[FileValues], files: Int): Option[ColumnValues] = {
    val groups = read.flatMap(_.groups)
    val (many, few) = (groups.collect { case m: Many => m }, groups.collect { case f: Few => f })
    val whole = read.size == files && read.forall(_.whole)
    val all = few.flatMap(_.values).toSet
    val alike = few.forall(_.values.size * spread >= all.size)
    if (few.isEmpty)
      Option.when(many.nonEmpty)(ManyValues(many.map(_.distinct).max, many.map(_.mostOfOne).max))
    else
      Option.when(many.isEmpty && all.nonEmpty && (whole || alike))(
        FewValues(all.toIndexedSeq, whole, few.forall(_.even))
      )
  }

  private def read(file: TableFile, column: String, hadoop: Configuration): Option[FileValues] = {
    val input = HadoopInputFile.fromStatus(file.status(hadoop), hadoop)
    val reader = ParquetFileReader.open(input, HadoopReadOptions.builder(hadoop, file.path).build())
    try {
      val groups = reader.getRowGroups.asScala.filter(_.getRowCount > 0).toSeq
      val chosen = (groups.take(1) ++ groups.drop(1).takeRight(groupsOfFile - 1))
        .map(g => g -> g.getColumns.asScala.find(_.getPath.toDotString == column))
      val found =
        if (chosen.forall(_._2.exists(small))) chosen.collect { case (g, Some(c)) => values(reader, g, c) }
        else chosen.map { case (g, c) => c.flatMap(many(g, _)) }
      Option.when(found.nonEmpty && found.forall(_.isDefined))(
        FileValues(found.flatten, chosen.size == groups.size)
      )
    } finally reader.close()
  }

  /** Whether all values of a chunk are in its dictionary, and those take little. */
  private def small(c: ColumnChunkMetaData): Boolean = {
    val stored = c.getFirstDataPageOffset - c.getStartingPos
    c.getPrimitiveType.getPrimitiveTypeName == PrimitiveTypeName.BINARY &&
    (allNull(c) || c.hasDictionaryPage && stored > 0 && stored <= maxStored && onlyDictionary(c))
  }

  /** As Parquet's own `DictionaryFilter` finds it, where a writer does not count its pages' encodings. */
  private def onlyDictionary(c: ColumnChunkMetaData): Boolean =
    Option(c.getEncodingStats) match {
      case Some(pages) => !pages.hasNonDictionaryEncodedPages
      case None =>
        val encodings = c.getEncodings.asScala.map(_.name).toSet
        encodings("PLAIN_DICTIONARY") && (encodings -- Seq("PLAIN_DICTIONARY", "RLE", "BIT_PACKED")).isEmpty
    }

  /**
   * A writer gives up a dictionary that saves nothing (most values of the first page are distinct, parquet-java), of more
   * values than a fifth of the rows (DuckDB), or of more than a MB: then it has written one, and one value may still be
   * nearly all there is. What is stored plain because it was to be compresses well if its values are few.
   */
  private def many(g: BlockMetaData, c: ColumnChunkMetaData): Option[GroupValues] = {
    val plain = Option(c.getEncodingStats).fold(!c.getEncodings.asScala.exists(_.usesDictionary))(
      _.hasNonDictionaryEncodedPages
    )
    def varied = makesDictionaries(g) && c.getTotalSize * fewShrink >= c.getTotalUncompressedSize
    val gaveUp = c.getPrimitiveType.getPrimitiveTypeName == PrimitiveTypeName.BINARY && plain &&
      (c.hasDictionaryPage || varied)
    val bytes = math.max(1.0, c.getTotalUncompressedSize.toDouble / math.max(1L, c.getValueCount))
    val distinct = math.min(present(c) * leastDistinct, maxBytes / bytes)
    Option.when(gaveUp && distinct > 1 / Selectivity.default)(
      Many(distinct, if (c.hasDictionaryPage) 1.0 else 1 - fifth)
    )
  }

  /** Whether the writer makes any; not if it made none of a number's column that has each value of its range twice or more. */
  private def makesDictionaries(g: BlockMetaData): Boolean = {
    val chunks = g.getColumns.asScala
    chunks.exists(_.hasDictionaryPage) || !chunks.exists(c =>
      Option(c.getStatistics).filter(_.hasNonNullValue).map(s => (s.genericGetMin, s.genericGetMax)).exists {
        case (low: Integer, high: Integer) => (high.toDouble - low + 1) * 2 <= present(c)
        case (low: java.lang.Long, high: java.lang.Long) => (high.toDouble - low + 1) * 2 <= present(c)
        case _ => false
      }
    )
  }

  /** Of a chunk's values, where its writer gave up the dictionary. */
  private val leastDistinct = 0.1

  /** Of its rows, above which DuckDB makes no dictionary. */
  private val fifth = 0.2

  /** How many times shorter a column of few values becomes by compression, at least. */
  private val fewShrink = 4

  private def allNull(c: ColumnChunkMetaData): Boolean =
    c.getStatistics != null && c.getStatistics.isNumNullsSet && c.getStatistics.getNumNulls == c.getValueCount

  private def values(
      reader: ParquetFileReader,
      g: BlockMetaData,
      c: ColumnChunkMetaData
  ): Option[GroupValues] =
    if (allNull(c)) Some(Few(Set.empty, even = true))
    else {
      val descriptor =
        reader.getFileMetaData.getSchema.getColumnDescription(c.getPath.toArray)
      val pages: DictionaryPageReadStore = reader.getDictionaryReader(g)
      Option(pages.readDictionaryPage(descriptor))
        .map { page =>
          if (page.getDictionarySize > maxValues || page.getUncompressedSize > maxBytes)
            Many(page.getDictionarySize.toDouble, mostOfOne = 1.0)
          else {
            val dictionary = page.getEncoding.initDictionary(descriptor, page)
            val values =
              (0 to dictionary.getMaxId).map(i => UTF8String.fromBytes(dictionary.decodeToBinary(i).getBytes))
            Few(values.toSet, even(c, page.getUncompressedSize.toLong, values.size))
          }
        }
    }

  /**
   * Whether indexes into the dictionary take about the bits of so many values: runs of one take fewer, be it because one
   * value is nearly all there is or because the column is sorted.
   */
  private def even(c: ColumnChunkMetaData, dictionary: Long, values: Int): Boolean = {
    val bits = 32 - Integer.numberOfLeadingZeros(math.max(1, values) - 1)
    (c.getTotalUncompressedSize - dictionary) * 8.0 >= present(c) * bits.toDouble * fullShare
  }

  /** Values that are not null, as far as is known. */
  private def present(c: ColumnChunkMetaData): Long =
    c.getValueCount - Option(c.getStatistics).filter(_.isNumNullsSet).fold(0L)(_.getNumNulls)

  /** Of an even column's bits; of two values that are there by chance few runs are of eight, which is what is shortened. */
  private val fullShare = 0.8
}

package org.apache.spark.sql.springbok.stats.source

import scala.jdk.CollectionConverters._

import org.apache.datasketches.hll.HllSketch
import org.apache.parquet.column.Dictionary
import org.apache.parquet.column.page.{DictionaryPage, DictionaryPageReadStore}
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName
import org.apache.spark.sql.springbok.stats.estimate.{SampledRows, Selectivity}
import org.apache.spark.unsafe.types.UTF8String

/** What a Parquet row group tells of a column's values. */
sealed private[source] trait RowGroupValues

private[source] object RowGroupValues {

  /**
   * All values.
   *
   * @param even
   *   whether they are about equally frequent and in no long runs
   * @param present
   *   rows that are not null
   */
  final case class Few(values: Set[UTF8String], even: Boolean, present: Double) extends RowGroupValues

  /**
   * Too many values to list, or of different frequency.
   *
   * @param distinct
   *   about so many, at least
   * @param mostOfOne
   *   largest fraction of the rows that may have the same value, as far as the encoding tells
   */
  final case class Many(distinct: Double, mostOfOne: Double, sample: Option[SampledRows] = None)
      extends RowGroupValues

  /** Numbers in some rows. */
  final case class Numbers(sample: SampledRows) extends RowGroupValues

  /**
   * An integral column's values.
   *
   * @param distinct
   *   how many there are
   * @param present
   *   rows that are not null
   */
  final case class Counted(distinct: Double, present: Double, sketch: HllSketch) extends RowGroupValues

  /** Bytes of all values that are not exceeded. */
  final case class Sized(most: Long) extends RowGroupValues

  /** Larger dictionaries are not read: bytes as stored, bytes in memory, values. */
  private val maxStored = 256L << 10
  private val maxBytes = 1 << 20
  private val maxValues = 10000

  /** Fewer values than this tell no more of a predicate than a guess. */
  val leastMany: Double = 1 / Selectivity.default

  /** Fraction of a chunk's values that are distinct, at least, if its writer gave up the dictionary. */
  private val leastDistinct = 0.1

  /** DuckDB makes no dictionary for more values than this fraction of the rows. */
  private val mostInDictionary = 0.2

  /** Compression makes a column of few values at least this many times shorter. */
  private val fewShrink = 4

  /** Fraction of an even column's bits. If two values alternate by chance, few runs have the eight values that shorten them. */
  private val fullShare = 0.8

  /** Whether all values of a chunk are in its dictionary, which is small. */
  def readable(c: ColumnChunkMetaData): Boolean = {
    val stored = c.getFirstDataPageOffset - c.getStartingPos
    isBinary(c) &&
    (allNull(c) || c.hasDictionaryPage && stored > 0 && stored <= maxStored && onlyDictionary(c))
  }

  /** The values of a readable chunk, from its dictionary. */
  def read(reader: ParquetFileReader, g: BlockMetaData, c: ColumnChunkMetaData): Option[RowGroupValues] =
    if (allNull(c)) Some(Few(Set.empty, even = true, present = 0))
    else
      dictionary(reader, g, c).map { case (page, decode) =>
        if (page.getDictionarySize > maxValues || page.getUncompressedSize > maxBytes)
          Many(page.getDictionarySize.toDouble, mostOfOne = 1.0)
        else {
          val values = decode()
          val texts =
            (0 to values.getMaxId).map(i => UTF8String.fromBytes(values.decodeToBinary(i).getBytes))
          Few(texts.toSet, even(c, page.getUncompressedSize.toLong, texts.size), present(c).toDouble)
        }
      }

  /** As if each value were the longest of the dictionary. Those that are not in it are part of what is stored. */
  def listedBytes(reader: ParquetFileReader, g: BlockMetaData, c: ColumnChunkMetaData): Option[Sized] = {
    val stored = c.getFirstDataPageOffset - c.getStartingPos
    if (!isBinary(c) || !c.hasDictionaryPage || stored > maxBytes || !ParquetFooters.storedWhole(c)) None
    else
      dictionary(reader, g, c).filter(_._1.getUncompressedSize <= maxBytes).map { case (_, decode) =>
        val values = decode()
        val longest = (0 to values.getMaxId).map(values.decodeToBinary(_).length.toLong).maxOption
        Sized(c.getTotalUncompressedSize + present(c) * longest.getOrElse(0L))
      }
  }

  /** The dictionary of a chunk as it is stored, and what decodes it. */
  private[source] def dictionary(
      reader: ParquetFileReader,
      g: BlockMetaData,
      c: ColumnChunkMetaData
  ): Option[(DictionaryPage, () => Dictionary)] = {
    val descriptor = reader.getFileMetaData.getSchema.getColumnDescription(c.getPath.toArray)
    val pages: DictionaryPageReadStore = reader.getDictionaryReader(g)
    Option(pages.readDictionaryPage(descriptor))
      .map(page => page -> (() => page.getEncoding.initDictionary(descriptor, page)))
  }

  /**
   * What follows from a chunk whose writer gave up the dictionary. parquet-java does so if a dictionary saves nothing (most
   * values of the first page are distinct), DuckDB if there are more values than a fifth of the rows, and any writer if the
   * dictionary is larger than a MB. In the last case it has written one, and one value may still be nearly all there is. A
   * chunk that is stored plain because the writer makes no dictionaries compresses well if its values are few.
   */
  def withoutDictionary(g: BlockMetaData, c: ColumnChunkMetaData): Option[RowGroupValues] = {
    val plain = Option(c.getEncodingStats).fold(!c.getEncodings.asScala.exists(_.usesDictionary))(
      _.hasNonDictionaryEncodedPages
    )
    def varied = makesDictionaries(g) && c.getTotalSize * fewShrink >= c.getTotalUncompressedSize
    val gaveUp = isBinary(c) && plain && (c.hasDictionaryPage || varied)
    val bytes = math.max(1.0, c.getTotalUncompressedSize.toDouble / math.max(1L, c.getValueCount))
    val distinct = math.min(present(c) * leastDistinct, maxBytes / bytes)
    Option.when(gaveUp && distinct > leastMany)(
      Many(distinct, if (c.hasDictionaryPage) 1.0 else 1 - mostInDictionary)
    )
  }

  /**
   * Whether the writer makes dictionaries. It does not if it made none for an integer column whose range is so small that
   * each of its values is there twice.
   */
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

  /** As in Parquet's own `DictionaryFilter`, if the writer does not count the encodings of its pages. */
  private[source] def onlyDictionary(c: ColumnChunkMetaData): Boolean =
    Option(c.getEncodingStats) match {
      case Some(pages) => !pages.hasNonDictionaryEncodedPages
      case None =>
        val encodings = c.getEncodings.asScala.map(_.name).toSet
        encodings("PLAIN_DICTIONARY") && (encodings -- Seq("PLAIN_DICTIONARY", "RLE", "BIT_PACKED")).isEmpty
    }

  /**
   * Whether indexes into the dictionary take about as many bits as for so many values. Runs of one value take fewer: one
   * value is nearly all there is, or the column is sorted.
   */
  private def even(c: ColumnChunkMetaData, dictionary: Long, values: Int): Boolean = {
    val bits = 32 - Integer.numberOfLeadingZeros(math.max(1, values) - 1)
    (c.getTotalUncompressedSize - dictionary) * 8.0 >= present(c) * bits.toDouble * fullShare
  }

  private[source] def isBinary(c: ColumnChunkMetaData): Boolean =
    c.getPrimitiveType.getPrimitiveTypeName == PrimitiveTypeName.BINARY

  private def allNull(c: ColumnChunkMetaData): Boolean =
    c.getStatistics != null && c.getStatistics.isNumNullsSet && c.getStatistics.getNumNulls == c.getValueCount

  /** Values that are not null, as far as is known. */
  private[source] def present(c: ColumnChunkMetaData): Long =
    c.getValueCount - Option(c.getStatistics).filter(_.isNumNullsSet).fold(0L)(_.getNumNulls)
}

package org.apache.spark.sql.springbok.stats.source

import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.StatsConf
import org.apache.spark.sql.springbok.stats.estimate.{
  ColumnValues,
  FewValues,
  ManyValues,
  RowGroupSample,
  SampledRows
}
import org.apache.spark.sql.springbok.stats.source.RowGroupValues.{Counted, Few, Many, Numbers, Sized}
import org.apache.spark.unsafe.types.UTF8String

/**
 * The distinct values of a table's string columns, and the number of those of its integral columns, from the dictionaries
 * of Parquet column chunks: a footer's smallest and largest value tell little of strings. Only a few row groups of the first
 * and the last file are read. If the table has more of them, the values count only if those row groups hold about the same
 * ones; in a table that is sorted by the column they do not ([[DistinctSample]] has the numbers). Where a dictionary does not
 * tell how frequent its values are, or there is none, rows of the chunk are sampled ([[ChunkSample]]). If the chunk is too
 * large for that, and its writer gave up the dictionary of this column but not those of others, there are many values.
 *
 * Numeric columns can be sampled as well, where the ranges of row groups say little of how frequent their values are.
 */
final private[springbok] class ParquetDictionaries(relation: HadoopFsRelation) {
  import ParquetDictionaries._

  private lazy val files = {
    val conf = SQLConf.get
    val enabled =
      conf.getConf(StatsConf.DICTIONARIES_ENABLED) && conf.getConf(StatsConf.FOOTERS_ENABLED) &&
        relation.fileFormat.isInstanceOf[ParquetFileFormat]
    // Each column of a file is read by itself, with the footer.
    def small(files: TableFiles) = FooterSample.chunks(relation, files) * 2 < FooterSample.maxChunks
    if (enabled) TableFiles.of(relation.location).filter(f => f.size > 0 && small(f)) else None
  }
  private lazy val names = FileColumnNames.of(relation.location)
  private lazy val hadoop = relation.sparkSession.sessionState.newHadoopConfWithOptions(relation.options)

  /** What is left of the time that all columns of the table may take together. */
  private lazy val leftNs = new AtomicLong(SQLConf.get.getConf(StatsConf.FOOTERS_MAX_MS) * 1000000)

  /** Whether the column's values are in the names of folders, not in the files. */
  def isPartition(a: Attribute): Boolean = relation.partitionSchema.exists(_.name == a.name)

  /** The values of a string column, or a sample of its rows; None if neither is known. */
  def values(column: String): Option[ColumnValues] = read(column, Wanted.Values).flatMap(combined)

  /** The most values that a string column can have, if dictionaries list all of them. */
  def mostDistinct(column: String): Option[Int] =
    read(column, Wanted.Listed).flatMap(combined).flatMap(_.atMost)

  /**
   * About how many distinct values an integral column has; None if that is not known.
   *
   * @param rows
   *   rows of the table that are not null
   */
  def count(column: String, rows: Double): Option[Double] = read(column, Wanted.Values).flatMap { s =>
    DistinctSample.count(counted(s), rows, s.whole)
  }

  /** The mean of the row groups that are read of an integral column. */
  def inRowGroup(column: String): Option[RowGroupSample] =
    read(column, Wanted.Values).map(counted).filter(_.nonEmpty).map { groups =>
      RowGroupSample(groups.map(_.distinct).sum / groups.size, groups.map(_.present).sum / groups.size)
    }

  private def counted(s: FileValues): Seq[Counted] = s.groups.collect { case c: Counted => c }

  /** Rows of a numeric column; None if the row groups that are read are of different distributions, or too large. */
  def numbers(column: String): Option[SampledRows] = read(column, Wanted.Numbers).flatMap { s =>
    val samples = s.groups.collect { case n: Numbers => n.sample }
    Option.when(s.whole || sameDistribution(samples))(
      SampledRows(samples.flatMap(_.values).toIndexedSeq, samples.map(_.rows).sum)
    )
  }

  /**
   * Bytes of all values of a string column that are not exceeded, from the dictionaries of all row groups. None if not all of
   * them could be read.
   */
  def mostBytes(column: String): Option[Double] = read(column, Wanted.Sizes)
    .filter(_.whole)
    .map(_.groups.collect { case s: Sized => s.most.toDouble }.sum)

  /** What the row groups that are read tell, and whether they are all of the table. */
  private def read(column: String, wanted: Wanted): Option[FileValues] = files.flatMap { files =>
    val found = read(files, Seq(column), wanted)
    Option.when(!found.contains(None)) {
      val read = found.flatten
      FileValues(read.flatMap(_.groups), read.size == files.size && read.forall(_.whole))
    }
  }

  /** Reads columns whose values will be asked for. */
  def readValues(columns: Seq[String]): Unit = files.foreach(read(_, columns, Wanted.Values): Unit)

  /** Reads columns whose numbers will be asked for. */
  def readNumbers(columns: Seq[String]): Unit = files.foreach(read(_, columns, Wanted.Numbers): Unit)

  private def read(files: TableFiles, columns: Seq[String], wanted: Wanted): Seq[Option[FileValues]] = {
    val start = System.nanoTime()
    val end = start + leftNs.get()
    val chosen = if (wanted == Wanted.Sizes) 0 until files.size else Seq(0, files.size - 1).distinct
    val parts =
      for (i <- chosen; c <- columns)
        yield FileColumnPart(files(i), names.inFiles(c), wanted)
    val found =
      RemoteReads.of[FileColumnPart, FileValues](parts, _.file, recall(_).isDefined, cache.fail) { p =>
        recall(p).orElse(cache(p, end)(inFile(p, hadoop))).flatten.flatten
      }
    leftNs.addAndGet(start - System.nanoTime()): Unit
    found
  }
}

private[springbok] object ParquetDictionaries {
  private val groupsOfFile = 2

  /** All values that were read are at most this many times as many as those of one row group. */
  private val spread = 1.25

  /**
   * @param groups
   *   what those row groups of a file, or a table, tell that were read
   * @param whole
   *   whether those are all
   */
  final private case class FileValues(groups: Seq[RowGroupValues], whole: Boolean)

  sealed private trait Wanted
  private object Wanted {

    /** The values in dictionaries. */
    case object Listed extends Wanted

    /** The same, or a sample of rows where dictionaries do not tell how frequent values are. */
    case object Values extends Wanted

    /** A sample of the rows of a numeric column. */
    case object Numbers extends Wanted

    /** The bytes of all values. */
    case object Sizes extends Wanted
  }

  /** What is wanted of a column of a file. */
  final private case class FileColumnPart(file: TableFile, column: String, wanted: Wanted)
  private val cache = new FileCache[FileColumnPart, Option[FileValues]](_.fold(0L)(heapBytes))

  /** What is known of the part. What needs no sample is the same with and without one. */
  private def recall(p: FileColumnPart): Option[Option[Option[FileValues]]] = {
    val other = p.wanted match {
      case Wanted.Listed => Some(Wanted.Values)
      case Wanted.Values => Some(Wanted.Listed)
      case Wanted.Numbers | Wanted.Sizes => None
    }
    def listed = other.flatMap(o => cache.recall(p.copy(wanted = o)))
    cache.recall(p).orElse(listed.filter(_.flatten.exists(v => needNoSample(v.groups))))
  }

  private def needNoSample(groups: Seq[RowGroupValues]): Boolean = groups.forall {
    case f: Few => f.even
    case _: Counted => true
    case _: Many | _: Numbers | _: Sized => false
  }

  /** Roughly: the bytes of each value, and those of its objects and its place. */
  private def heapBytes(of: FileValues): Long = of.groups.collect {
    case f: Few => heapBytes(f.values)
    case m: Many => heapBytes(m.sample.fold(Seq.empty[Any])(_.values))
    case c: Counted => c.sketch.getUpdatableSerializationBytes.toLong
    case n: Numbers => n.sample.values.size * numberBytes
  }.sum

  /** A boxed number and its place. */
  private val numberBytes = 24L

  private def heapBytes(texts: Iterable[Any]): Long =
    texts.iterator.collect { case t: UTF8String => t.numBytes + 100L }.sum

  private def combined(read: FileValues): Option[ColumnValues] = {
    val (many, few) = (read.groups.collect { case m: Many => m }, read.groups.collect { case f: Few => f })
    if (many.isEmpty) listed(few, read.whole)
    else {
      // If a dictionary's values are about equally frequent, each stands for as many rows.
      val samples = many.map(_.sample) ++
        few.map(f => Option.when(f.even)(SampledRows(f.values.toIndexedSeq, f.present)))
      val (distinct, mostOfOne) = (many.map(_.distinct).max, many.map(_.mostOfOne).max)
      if (!samples.contains(None) && (read.whole || sameDistribution(samples.flatten)))
        Some(ManyValues(distinct, mostOfOne, samples.flatten, read.whole))
      else
        Option.when(few.isEmpty && distinct > RowGroupValues.leastMany)(ManyValues(distinct, mostOfOne))
    }
  }

  /** A row group of nulls tells nothing of other values. */
  private def sameDistribution(samples: Seq[SampledRows]): Boolean = {
    val some = samples.filter(_.values.nonEmpty)
    some.size > 1 && some.tail.forall(_.sameDistribution(some.head))
  }

  private def listed(few: Seq[Few], whole: Boolean): Option[FewValues] = {
    val all = few.flatMap(_.values).toSet
    val alike = few.forall(_.values.size * spread >= all.size)
    Option.when(all.nonEmpty && (whole || alike))(
      FewValues(all.toIndexedSeq, whole, few.forall(_.even))
    )
  }

  private def inFile(part: FileColumnPart, hadoop: Configuration): Option[FileValues] = {
    val input = HadoopInputFile.fromStatus(part.file.status(hadoop), hadoop)
    val reader = ParquetFileReader.open(input, HadoopReadOptions.builder(hadoop, part.file.path).build())
    try {
      val groups = reader.getRowGroups.asScala.zipWithIndex.filter(_._1.getRowCount > 0).toSeq
      val chosen = for {
        (g, i) <-
          if (part.wanted == Wanted.Sizes) groups
          else groups.take(1) ++ groups.drop(1).takeRight(groupsOfFile - 1)
        c <- g.getColumns.asScala.find(_.getPath.toDotString == part.column)
      } yield Chunk(g, i, c)
      val found =
        if (part.wanted == Wanted.Numbers)
          all(chosen)(c => ChunkSample.numbers(reader, c.index, c.column))
        else if (part.wanted == Wanted.Sizes)
          all(chosen) { c =>
            ParquetFooters
              .countedBytes(c.column)
              .map(Sized(_))
              .orElse(RowGroupValues.listedBytes(reader, c.group, c.column))
          }
        else if (chosen.forall(c => RowGroupNumbers.is(c.column)))
          all(chosen)(c => RowGroupNumbers.read(reader, c.group, c.column))
        else texts(reader, chosen, part.wanted == Wanted.Values)
      found.filter(_.nonEmpty).map(FileValues(_, chosen.size == groups.size))
    } finally reader.close()
  }

  /** A column of a row group, which has this index in its file. */
  final private case class Chunk(group: BlockMetaData, index: Int, column: ColumnChunkMetaData)

  /** What each of the chunks tells, None if one of them tells nothing. */
  private def all(chunks: Seq[Chunk])(read: Chunk => Option[RowGroupValues]): Option[Seq[RowGroupValues]] = {
    val found = chunks.iterator.map(read).takeWhile(_.isDefined).flatten.toList
    Option.when(found.size == chunks.size)(found)
  }

  private def texts(
      reader: ParquetFileReader,
      chunks: Seq[Chunk],
      sampled: Boolean
  ): Option[Seq[RowGroupValues]] = {
    val listed =
      if (!chunks.forall(c => RowGroupValues.readable(c.column))) None
      else all(chunks)(c => RowGroupValues.read(reader, c.group, c.column))
    def sample =
      if (!sampled || !chunks.forall(c => ChunkSample.hasFewTexts(c.column))) None
      else all(chunks)(c => ChunkSample.texts(reader, c.index, c.column))
    listed
      .filter(needNoSample)
      .orElse(sample)
      .orElse(listed)
      .orElse(all(chunks)(c => RowGroupValues.withoutDictionary(c.group, c.column)))
  }
}

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

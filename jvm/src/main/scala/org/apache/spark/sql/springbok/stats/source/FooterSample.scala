package org.apache.spark.sql.springbok.stats.source

import java.lang.ref.SoftReference

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.execution.datasources.{FileFormat, FileIndex, HadoopFsRelation}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.StatsConf

/**
 * What the footers of a table's files say, whatever their format.
 *
 * A bounded sample of a table's files is opened, spread over the listing. The other files are extrapolated from it by their
 * bytes. Footers are cached by path, length and modification time. A footer that cannot be read is left out, and counted.
 */
private[springbok] object FooterSample {

  /** A file's length in bytes, and what its footer says. */
  final private case class Footer(bytes: Long, groups: Seq[RowGroup])
  private val footers = new FileCache[TableFile, Footer](_.groups.map(heap).sum)

  /** What a sample was taken of. A refreshed index is the same object with other files. */
  final private case class Listing(files: Int, bytes: Long, changed: Long, limit: Int)
  private object Listing {
    def of(files: TableFiles, limit: Int): Listing =
      Listing(files.size, files.bytes, files.changed, limit)
  }

  /**
   * A table as it was read. If footers are missing, it is not read again for a while: otherwise all rules of a query would
   * spend the time again, in each of its plannings.
   */
  final private case class Sampled(
      listing: Listing,
      whole: Boolean,
      at: Long,
      table: SoftReference[TableFooters]
  ) {
    def get(now: Listing): Option[TableFooters] =
      if (now == listing && (whole || System.nanoTime() - at < FileCache.againNs)) Option(table.get())
      else None
  }

  /** By the table's index, for as long as a query or a view holds it. */
  private val tables = ByIdentity[FileIndex, Sampled]()

  /**
   * The table, without row groups if nothing could be read; None if its files are not of the format.
   *
   * @param read
   *   reads one file's footer
   */
  def of(relation: HadoopFsRelation, format: FileFormat => Boolean)(
      read: (FileStatus, Configuration) => Seq[RowGroup]
  ): Option[TableFooters] = {
    val conf = SQLConf.get
    val files =
      if (conf.getConf(StatsConf.FOOTERS_ENABLED) && format(relation.fileFormat))
        TableFiles.of(relation.location)
      else None
    files.filter(_.size > 0).map { files =>
      val listing = Listing.of(files, limit(relation, files, conf))
      Option(tables.getIfPresent(relation.location)).flatMap(_.get(listing)).getOrElse {
        val table = sample(files, listing.limit, relation, conf, read)
        val whole = table.filesRead == math.min(files.size, listing.limit)
        tables.put(
          relation.location,
          Sampled(listing, whole, System.nanoTime(), new SoftReference(table))
        )
        table
      }
    }
  }

  /** How many footers are read: fewer of large files with many columns, since they are parsed at the same time. */
  private def limit(relation: HadoopFsRelation, files: TableFiles, conf: SQLConf): Int =
    math.min(conf.getConf(StatsConf.FOOTERS_MAX_FILES), (maxChunks / chunks(relation, files)).toInt).max(1)

  /** About how many column chunks a file has: those of a row group for every 64 MB, half of what Spark writes. */
  private[source] def chunks(relation: HadoopFsRelation, files: TableFiles): Double =
    math.max(1, relation.dataSchema.size) * math.max(1.0, files.bytes.toDouble / files.size / (64 << 20))

  /** Column chunks of all footers together. Each takes about 1 KB of the driver's heap while it is parsed. */
  private[source] val maxChunks = 16000.0

  private def sample(
      files: TableFiles,
      limit: Int,
      relation: HadoopFsRelation,
      conf: SQLConf,
      read: (FileStatus, Configuration) => Seq[RowGroup]
  ): TableFooters = {
    val end = System.nanoTime() + conf.getConf(StatsConf.FOOTERS_MAX_MS) * 1000000
    lazy val hadoop = relation.sparkSession.sessionState.newHadoopConfWithOptions(relation.options)
    val step = math.max(1.0, files.size.toDouble / limit)
    val chosen = Iterator.iterate(0.0)(_ + step).map(_.toInt).takeWhile(_ < files.size).map(files(_)).toSeq
    def open(file: TableFile) = footers(file, end) {
      val status = file.status(hadoop)
      Footer(status.getLen, read(status, hadoop).map(shared))
    }
    val opened = RemoteReads
      .of[TableFile, Option[Footer]](chosen, identity, footers.recall(_).isDefined, footers.fail)(open)
      .flatten
    val known = opened.flatten
    val bytes = known.map(_.bytes).sum.toDouble
    val names = FileColumnNames.of(relation.location)
    val groups = known.flatMap(_.groups).map(names.ofTable)
    val scale = if (known.size == files.size || bytes == 0) 1.0 else files.bytes / bytes
    val rows = groups.map(_.rows).sum * scale
    TableFooters(rows, files.size, known.size, groups, opened.count(_.isEmpty), files.listed)
  }

  /** All row groups of all files have the same columns, so their names are kept once. */
  private def shared(g: RowGroup): RowGroup = g.named(n => Some(n.intern()))

  /** Roughly the bytes of the heap. */
  private def heap(g: RowGroup): Long =
    (g.ranges.size + g.sizes.size + g.nulls.size + g.precisions.size + g.types.size + g.mostSizes.size) * 64L + 200
}

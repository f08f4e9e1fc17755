package org.apache.spark.sql.springbok.stats

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.datasources.{FileFormat, FileIndex, HadoopFsRelation}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.{Interrupted, SpringbokConf}
import org.apache.spark.sql.springbok.stats.ParquetFooters.{RowGroup, Table}

/**
 * What the footers of a table's files say, whatever their format.
 *
 * A bounded sample of a table's files is opened, spread over the listing; the others are estimated from it by bytes.
 * Footers are cached by path, length and modification time. A footer that cannot be read is left out, and counted; it is
 * tried again after a while.
 */
private[stats] object FooterSample extends Logging {
  private val maxCached = 20000
  private type Key = (String, Option[Long], Long)

  /** A file's length in bytes, and what its footer says. */
  final private case class Footer(bytes: Long, groups: Seq[RowGroup])
  private val cache = RecentlyUsed.map[Key, Footer](maxCached)

  /** When a footer was last read in vain, as `System.nanoTime`. */
  private val unreadable = RecentlyUsed.map[Key, java.lang.Long](maxCached)
  private val againNs = 60L * 1000000000

  /** What a sample was taken of; a refreshed index is the same object with other files. */
  final private case class Listing(files: Int, bytes: Long, changed: Long, limit: Int)
  private object Listing {
    def of(files: TableFiles, limit: Int): Listing =
      Listing(files.size, files.bytes, files.changed, limit)
  }

  /** Tables by their index, for as long as a query or a view holds it. */
  private val tables = new ByIdentity[FileIndex, (Listing, Table)]

  /**
   * The table, with no row groups if nothing could be read; None if its files are not of the format.
   *
   * @param read
   *   reads one file's footer
   */
  def of(relation: HadoopFsRelation, format: FileFormat => Boolean)(
      read: (FileStatus, Configuration) => Seq[RowGroup]
  ): Option[Table] = {
    val conf = SQLConf.get
    val files =
      if (conf.getConf(SpringbokConf.FOOTERS_ENABLED) && format(relation.fileFormat))
        TableFiles.of(relation.location)
      else None
    files.filter(_.size > 0).map { files =>
      val listing = Listing.of(files, conf.getConf(SpringbokConf.FOOTERS_MAX_FILES))
      tables.get(relation.location).filter(_._1 == listing).map(_._2).getOrElse {
        val table = sample(files, relation, conf, read)
        // One that ran out of time goes on with the files that are left when it is asked again.
        if (table.filesRead == math.min(files.size, listing.limit))
          tables.put(relation.location, listing -> table)
        table
      }
    }
  }

  private def sample(
      files: TableFiles,
      relation: HadoopFsRelation,
      conf: SQLConf,
      read: (FileStatus, Configuration) => Seq[RowGroup]
  ): Table = {
    val limit = conf.getConf(SpringbokConf.FOOTERS_MAX_FILES)
    val end = System.nanoTime() + conf.getConf(SpringbokConf.FOOTERS_MAX_MS) * 1000000
    lazy val hadoop = relation.sparkSession.sessionState.newHadoopConfWithOptions(relation.options)
    val step = math.max(1.0, files.size.toDouble / limit)
    val chosen = Iterator.iterate(0.0)(_ + step).map(_.toInt).takeWhile(_ < files.size).map(files(_))
    val opened = chosen
      .takeWhile(_ => System.nanoTime() < end)
      .map(footer(_, hadoop, read))
      .toSeq
    val known = opened.flatten
    val bytes = known.map(_.bytes).sum.toDouble
    val groups = known.flatMap(_.groups)
    val scale = if (known.size == files.size || bytes == 0) 1.0 else files.bytes / bytes
    val rows = groups.map(_.rows).sum * scale
    Table(rows, files.size, known.size, groups, opened.count(_.isEmpty), files.listed)
  }

  private def footer(
      file: TableFile,
      hadoop: => Configuration,
      read: (FileStatus, Configuration) => Seq[RowGroup]
  ): Option[Footer] = {
    val key = (file.path.toString, file.bytes, file.changed)
    def failed = Option(unreadable.get(key)).exists(System.nanoTime() - _ < againNs)
    Option(cache.get(key)).orElse {
      if (failed) None
      else
        try {
          val status = file.status(hadoop)
          val footer = Footer(status.getLen, read(status, hadoop))
          cache.put(key, footer)
          Some(footer)
        } catch {
          case e @ Interrupted() => throw e
          case NonFatal(e) =>
            logDebug(s"The footer of ${file.path} cannot be read and is left out of the statistics.", e)
            unreadable.put(key, System.nanoTime()): Unit
            None
        }
    }
  }
}

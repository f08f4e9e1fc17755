package org.apache.spark.sql.springbok.stats

import java.util.{Collections, LinkedHashMap => JLinkedHashMap, Map => JMap, WeakHashMap}

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.datasources.{FileFormat, FileIndex, HadoopFsRelation}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.SpringbokConf
import org.apache.spark.sql.springbok.stats.ParquetFooters.{RowGroup, Table}

/**
 * What the footers of a table's files say, whatever their format.
 *
 * A bounded sample of a table's files is opened, spread over the listing; the others are estimated from it by bytes.
 * Footers are cached by path, length and modification time. A footer that cannot be read is left out, and counted.
 */
private[stats] object FooterSample extends Logging {
  private val maxCached = 20000
  private type Key = (String, Long, Long)
  private val cache: JMap[Key, Seq[RowGroup]] = Collections.synchronizedMap(
    new JLinkedHashMap[Key, Seq[RowGroup]](64, 0.75f, true) {
      override def removeEldestEntry(e: JMap.Entry[Key, Seq[RowGroup]]): Boolean = size() > maxCached
    }
  )

  /** What a sample was taken of; a refreshed index is the same object with other files. */
  final private case class Listing(files: Int, bytes: Long, changed: Long, limit: Int)
  private object Listing {
    def of(files: Seq[FileStatus], limit: Int): Listing =
      Listing(files.size, files.map(_.getLen).sum, files.map(_.getModificationTime).sum, limit)
  }

  /** Tables by their index, for as long as a query or a view holds it. */
  private val tables: JMap[FileIndex, (Listing, Table)] =
    Collections.synchronizedMap(new WeakHashMap[FileIndex, (Listing, Table)]())

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
    val index =
      if (conf.getConf(SpringbokConf.FOOTERS_ENABLED) && format(relation.fileFormat))
        PartitionListing.of(relation.location)
      else None
    index match {
      case Some(index) =>
        val files = index.allFiles().filter(_.getLen > 0)
        Option.when(files.nonEmpty) {
          val listing = Listing.of(files, conf.getConf(SpringbokConf.FOOTERS_MAX_FILES))
          Option(tables.get(index)).filter(_._1 == listing).map(_._2).getOrElse {
            val table = sample(files, relation, conf, read)
            // One that ran out of time goes on with the files that are left when it is asked again.
            if (table.filesRead == math.min(files.size, listing.limit))
              tables.put(index, listing -> table): Unit
            table
          }
        }
      case _ => None
    }
  }

  private def sample(
      files: Seq[FileStatus],
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
      .map(f => f -> footer(f, read(_, hadoop)))
      .toSeq
    val known = opened.collect { case (f, Some(g)) => f.getLen -> g }
    val bytes = known.map(_._1).sum.toDouble
    val groups = known.flatMap(_._2)
    val scale = if (known.size == files.size || bytes == 0) 1.0 else files.map(_.getLen).sum / bytes
    Table(groups.map(_.rows).sum * scale, files.size, known.size, groups, opened.count(_._2.isEmpty))
  }

  private def footer(file: FileStatus, read: FileStatus => Seq[RowGroup]): Option[Seq[RowGroup]] = {
    val key = (file.getPath.toString, file.getLen, file.getModificationTime)
    Option(cache.get(key)).orElse {
      try {
        val groups = read(file)
        cache.put(key, groups)
        Some(groups)
      } catch {
        case NonFatal(e) =>
          logDebug(s"The footer of ${file.getPath} cannot be read and is left out of the statistics.", e)
          None
      }
    }
  }
}

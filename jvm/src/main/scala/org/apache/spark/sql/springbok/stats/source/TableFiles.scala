package org.apache.spark.sql.springbok.stats.source

import java.lang.ref.SoftReference

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.Interrupted
import org.apache.spark.sql.springbok.conf.StatsConf

/**
 * A file of a table.
 *
 * @param bytes
 *   its length, None if the table's index only names files
 */
final private[springbok] case class TableFile(path: Path, bytes: Option[Long], changed: Long) {
  def status(hadoop: Configuration): FileStatus = bytes match {
    case Some(n) => new FileStatus(n, false, 1, n, changed, path)
    case None => path.getFileSystem(hadoop).getFileStatus(path)
  }
}

/**
 * The files of a table. There may be many, so each is made when it is asked for.
 *
 * @param bytes
 *   sum of their lengths
 * @param changed
 *   sum of their modification times
 * @param listed
 *   whether they were found by listing folders. In files that a table format's log names, columns may have other names, and
 *   rows may be deleted.
 */
final private[springbok] class TableFiles(
    val size: Int,
    val bytes: Long,
    val changed: Long,
    val listed: Boolean,
    file: Int => TableFile
) {
  def apply(i: Int): TableFile = file(i)
}

private[springbok] object TableFiles extends Logging {
  def of(index: FileIndex): Option[TableFiles] = PartitionListing
    .of(index)
    .map { p =>
      val found = p.allFiles().filter(_.getLen > 0).toIndexedSeq
      val (bytes, changed) = (found.iterator.map(_.getLen).sum, found.iterator.map(_.getModificationTime).sum)
      new TableFiles(
        found.size,
        bytes,
        changed,
        listed = true,
        i => TableFile(found(i).getPath, Some(found(i).getLen), found(i).getModificationTime)
      )
    }
    .orElse(named(index))

  private val seen = ByIdentity[FileIndex, Option[TableFiles]]()

  /** The files that an index of a table format, such as Delta's, names for this query. */
  private[springbok] def named(index: FileIndex): Option[TableFiles] =
    if (!mayBeAsked(index)) None
    else
      Option(seen.getIfPresent(index)).getOrElse {
        val found = names(index)
        seen.put(index, found)
        found
      }

  /** Whether a table format's log names the files. Those of the other indexes are listed, see [[PartitionListing]]. */
  private[springbok] def namedByLog(index: FileIndex): Boolean = index match {
    case _: CatalogFileIndex | _: PartitioningAwareFileIndex => false
    case _ => true
  }

  /**
   * Whether the index is asked for its files. Delta's index of a table before it has planned the scan, and Delta Sharing's,
   * would read the whole log of a table of which the query may need one partition. Hudi's index lists all partitions: without
   * its rows, a filter may be made of the wrong side.
   */
  private def mayBeAsked(index: FileIndex): Boolean = {
    val name = index.getClass.getName
    deltaWithFiles(name) || name.startsWith("org.apache.hudi.")
  }

  /** How the names of Delta's classes begin. */
  private[source] val delta = "org.apache.spark.sql.delta."

  /** Delta's indexes that are made of the files of one query. */
  private val deltaWithFiles = Set(
    "stats.PreparedDeltaFileIndex",
    "files.TahoeBatchFileIndex",
    "files.TahoeChangeFileIndex",
    "files.TahoeRemoveFileIndex",
    "files.CdcAddFileIndex",
    "DeltaLogFileIndex"
  ).map(delta + _)

  /** As `DataFrame.inputFiles` reads them. */
  private def names(index: FileIndex): Option[TableFiles] =
    try {
      val names = index.inputFiles
      val file = (i: Int) => TableFile(new Path(names(i)), None, 0)
      Some(new TableFiles(names.length, index.sizeInBytes, 0, listed = false, file))
    } catch {
      case e @ Interrupted() => throw e
      case NonFatal(e) =>
        logDebug(s"${index.getClass.getName} names no files: no statistics of its table.", e)
        None
    }
}

/**
 * The listing of a table's files and partitions. If the catalog keeps the partitions, Spark lists such a table only when
 * the scan starts; here it is listed once, through the cache of file listings that the scan reads as well.
 */
private[springbok] object PartitionListing extends Logging {

  /** A listing may be large and refers to its session, so it is dropped when memory is short. */
  final private case class Listed(until: Long, listing: Option[SoftReference[PartitioningAwareFileIndex]]) {
    def files: Option[Option[PartitioningAwareFileIndex]] = {
      val found = listing.map(_.get())
      Option.when(System.nanoTime() - until < 0 && !found.contains(null))(found)
    }
  }

  /** Listings by the table's index, which the session keeps until the table is changed or refreshed. */
  private val listed = ByIdentity[FileIndex, Listed]()

  /** For how long files that others add to a table may go unnoticed. */
  private val validNs = 60L * 1000000000

  /** For how long a catalog that failed is not asked again, so that not every rule of a query waits for it. */
  private val failedNs = 3L * 1000000000

  /** The listing; None if it cannot be made, or the catalog has too many partitions to list. */
  def of(index: FileIndex): Option[PartitioningAwareFileIndex] = index match {
    case p: PartitioningAwareFileIndex => Some(p)
    case c: CatalogFileIndex =>
      Option(listed.getIfPresent(c)).flatMap(_.files).getOrElse {
        val (files, forNs) = list(c)
        listed.put(c, Listed(System.nanoTime() + forNs, files.map(new SoftReference(_))))
        files
      }
    case _ => None
  }

  /** Whether a listing shows that the table has no file, and so no row. */
  def isEmpty(index: FileIndex): Boolean = of(index).exists(_.allFiles().isEmpty)

  /** The listing, and for how many ns it is valid. */
  private def list(c: CatalogFileIndex): (Option[PartitioningAwareFileIndex], Long) =
    try {
      val catalog = SparkSession.active.sessionState.catalog
      val most = SQLConf.get.getConf(StatsConf.FOOTERS_MAX_PARTITIONS)
      val few = c.table.partitionColumnNames.isEmpty ||
        catalog.listPartitionNames(c.table.identifier).size <= most
      Option.when(few)(c.filterPartitions(Nil)) -> validNs
    } catch {
      case e @ Interrupted() => throw e
      case NonFatal(e) =>
        logDebug(s"The partitions of ${c.table.identifier} cannot be listed: no statistics of it.", e)
        None -> failedNs
    }
}

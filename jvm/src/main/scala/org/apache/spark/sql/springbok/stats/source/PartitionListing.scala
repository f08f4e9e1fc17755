package org.apache.spark.sql.springbok.stats.source

import java.lang.ref.SoftReference

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.Interrupted
import org.apache.spark.sql.springbok.conf.StatsConf

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

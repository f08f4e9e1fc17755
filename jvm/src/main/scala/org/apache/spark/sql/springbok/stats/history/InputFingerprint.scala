package org.apache.spark.sql.springbok.stats.history

import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, Range}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{FileIndex, PartitioningAwareFileIndex}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.springbok.catalyst.FileTable
import org.apache.spark.sql.springbok.stats.estimate.Estimate
import org.apache.spark.sql.springbok.stats.source.{LogRows, PartitionListing}

/**
 * What tells one state of a query's input from another, without reading it.
 *
 * @param files
 *   how many there are; 0 for inputs that are not listed
 * @param bytes
 *   the size of all of them; of an Iceberg table as its rows and types say
 * @param state
 *   names and times of the files, or the version of the table
 */
final private[springbok] case class InputFingerprint(files: Long, bytes: Long, state: Digest)

private[history] object InputFingerprint {

  /** Files whose names are looked at. Of more files, these are spread evenly among all. */
  private val maxNames = 4096

  /**
   * Of one input; None if its changes would go unnoticed.
   *
   * @param beforeMs
   *   when all listed files must have been changed, in ms since 1970. The plan names the version of other inputs
   */
  def of(leaf: LogicalPlan, beforeMs: Long = Long.MaxValue): Option[InputFingerprint] = leaf match {
    case FileTable(_, fs) =>
      PartitionListing.of(fs.location).fold(versioned(fs.location))(listed(_, beforeMs))
    case s: DataSourceV2ScanRelation if IcebergScan.is(s) =>
      // The scan's size is that of the columns that the query reads.
      for (v <- IcebergScan.version(s); rows <- s.stats.rowCount) yield {
        val bytes = rows.toDouble * Estimate.rowBytes(s.relation.output)
        InputFingerprint(0, bytes.toLong, Digest.text(v))
      }
    // It is filled once.
    case m: InMemoryRelation if m.cacheBuilder.isCachedColumnBuffersLoaded =>
      val s = m.computeStats()
      Some(InputFingerprint(0, s.sizeInBytes.toLong, Digest.text(s.rowCount.toString)))
    // Their keys say what they hold.
    case _: Range | _: LocalRelation => Some(InputFingerprint(0, 0, Digest.text("constant")))
    case _ => None
  }

  private def listed(index: PartitioningAwareFileIndex, beforeMs: Long): Option[InputFingerprint] = {
    val files = index.allFiles().toIndexedSeq
    val step = 1 + files.size / maxNames
    // The sum does not depend on the order in which folders are listed.
    var (bytes, newest, names) = (0L, 0L, 0L)
    for (i <- files.indices) {
      val f = files(i)
      bytes += f.getLen
      newest = math.max(newest, f.getModificationTime)
      if (i % step == 0) names += scala.util.hashing.byteswap64(f.getPath.getName.hashCode + f.getLen)
    }
    Option.when(newest < beforeMs)(InputFingerprint(files.size.toLong, bytes, Digest(newest, names)))
  }

  private def versioned(index: FileIndex): Option[InputFingerprint] =
    LogRows.version(index).map { v =>
      InputFingerprint(LogRows.files(index).getOrElse(0), index.sizeInBytes, Digest.text(v.toString))
    }
}

package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.springbok.AppliedRuntimeFilterExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.physical.RowGroupTest
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.rules.runtimefilters.{
  FilterWorth,
  FinishedKeys,
  PushableKeys,
  PushedFilter,
  PushWay
}
import org.apache.spark.sql.springbok.rules.runtimefilters.connectors.ScanConnector
import org.apache.spark.sql.springbok.stats.source.Footers

/**
 * The row groups that tasks leave out by a late filter. Its keys are told in the same form as to a scan that waits for them,
 * under the same conditions, and only if more is saved than the tasks spend on footers.
 */
private[place] object SkippedGroups {

  def of(
      at: AppliedRuntimeFilterExec,
      keys: FinishedKeys,
      worth: FilterWorth,
      conf: SQLConf
  ): Either[Reason, (PushedFilter, RowGroupTest)] = {
    val found = at.child.collectLeaves() match {
      case Seq(s: FileSourceScanExec) if RowGroupTest.applies(s) =>
        for {
          pushed <- pushed(s, at, keys, worth, conf) if worth.regardless || pays(pushed, s, conf)
          test <- RowGroupTest.of(s, pushed.predicate, conf)
        } yield (pushed, test)
      case _ => None
    }
    found.toRight(Reason.scanStarted)
  }

  /** Buckets and partitions were chosen when the scan started. */
  private def pushed(
      scan: FileSourceScanExec,
      at: AppliedRuntimeFilterExec,
      keys: FinishedKeys,
      worth: FilterWorth,
      conf: SQLConf
  ): Option[PushedFilter] = {
    val filter = ScanConnector.Filter.of(keys, at.key, worth, conf)
    ScanConnector.push(scan, at.key, PushableKeys.Keys(keys.facts), filter).toOption.collect {
      case p @ PushedFilter(kind, _, _: PushWay.FileData, _) if kind != PushWay.buckets =>
        p.copy(way = PushWay.FileData())
    }
  }

  /** Whether a task leaves out more bytes than it could read in the time in which it opens a file. */
  private def pays(pushed: PushedFilter, scan: FileSourceScanExec, conf: SQLConf): Boolean =
    pushed.rowGroups.forall { case (skipped, groups) =>
      val files = Footers.read(scan.relation).fold(1)(_.files)
      val bytes = math.min(scan.relation.sizeInBytes.toDouble / files, conf.filesMaxPartitionBytes.toDouble)
      skipped * bytes > conf.filesOpenCostInBytes.toDouble * groups
    }
}

package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.expressions.{Expression, ExprId}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.springbok.{
  AppliedRuntimeFilterExec,
  FilterInfo,
  JoinedBuildSideExec,
  RuntimeFilterExec
}
import org.apache.spark.sql.springbok.keys.{FilterKey, SourceKey, TriedKey}
import org.apache.spark.sql.springbok.physical.LateContains

/**
 * A filter on its way down to its scans.
 *
 * @param key
 *   the key where the filter is now
 * @param source
 *   the exchange that the scans depend on
 */
final private[springbok] case class PendingFilter(
    key: Expression,
    sourceKey: SourceKey,
    source: SparkPlan,
    parts: FilterParts
) {
  def at(key: Expression): PendingFilter = copy(key = key)
}

/**
 * The parts of a filter that stay the same on the way.
 *
 * @param records
 *   by the columns of the scans that it is placed on
 * @param retained
 *   the fraction of rows that are expected to pass
 */
final private[springbok] case class FilterParts(records: Map[ExprId, FilterInfo], retained: Option[Double])

private[springbok] object PendingFilter {

  /** The scan with those of the filters that are placed on it. The most selective one runs first. */
  def attached(scan: SparkPlan, pending: Seq[PendingFilter], planning: FilterPlanning): SparkPlan = {
    val cached = FilterTargets.isCached(scan)
    pending.sortBy(_.parts.retained.getOrElse(1.0)).foldLeft(scan) { (below, f) =>
      f.parts.records.get(FilterKey.anchor(f.key).exprId).fold(below) { info =>
        val filter = operator(f, info, below, planning)
        // The filter gets the link of the scan. `setLogicalLink` would hand the link down to the exchange as well. The link
        // of a cached table stays with the table: with it, the filter would be taken for the table's stage.
        if (!cached) filter.copyTagsFrom(below)
        filter
      }
    }
  }

  private def operator(
      f: PendingFilter,
      info: FilterInfo,
      scan: SparkPlan,
      planning: FilterPlanning
  ): SparkPlan = {
    val key = TriedKey.guarded(f.key)
    info.late match {
      case None if !planning.adaptive => StaticFilter.applied(f, scan, info)
      case None =>
        val source = info.known.getOrElse(if (info.local) JoinedBuildSideExec.of(f.source) else f.source)
        RuntimeFilterExec(f.sourceKey, key, scan, source)(info)
      case Some(late) =>
        val test = Some(TriedKey.passing(key, LateContains(key, late)))
        AppliedRuntimeFilterExec(f.sourceKey, key, test, f.source.canonicalized, scan)(info)
    }
  }
}

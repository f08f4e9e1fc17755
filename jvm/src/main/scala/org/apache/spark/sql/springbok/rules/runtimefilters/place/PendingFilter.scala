package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.springbok.{FilterDependencyExec, JoinedBuildSideExec, RuntimeFilterExec}
import org.apache.spark.sql.springbok.catalyst.JoinSide
import org.apache.spark.sql.springbok.keys.{FilterKey, TriedKey}
import org.apache.spark.sql.springbok.physical.{LateFilter, PhysicalRows}
import org.apache.spark.sql.springbok.record.{FilterTiming, RuntimeFilter}

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
    placed: PlacedKey,
    source: SparkPlan
) {
  def at(key: Expression): PendingFilter = copy(key = key)
}

private[springbok] object PendingFilter {

  /** The scan with those of the filters that are placed on it. The most selective one runs first. */
  def attached(scan: SparkPlan, pending: Seq[PendingFilter], late: => LateFilter): SparkPlan = {
    val cached = FilterTargets.isCached(scan)
    pending.sortBy(_.placed.retained.getOrElse(1.0)).foldLeft(scan) { (below, f) =>
      f.placed.filters.get(FilterKey.anchor(f.key).exprId).fold(below) { placed =>
        val filter = operator(f, placed, below, late)
        // The filter gets the link of the scan. `setLogicalLink` would hand the link down to the exchange as well. The link
        // of a cached table stays with the table: with it, the filter would be taken for the table's stage.
        if (!cached) filter.copyTagsFrom(below)
        filter
      }
    }
  }

  private def operator(
      f: PendingFilter,
      placed: RuntimeFilter,
      scan: SparkPlan,
      late: => LateFilter
  ): SparkPlan = {
    val source =
      if (BuildSides.finished(f.source)) f.source
      else if (placed.timing == FilterTiming.Local) JoinedBuildSideExec(f.source)
      else FilterDependencyExec(f.source)(placed.join.stageWait(f.source))
    val filter = RuntimeFilterExec(f.placed.of.sourceKey, TriedKey.guarded(f.key), scan, source)(placed)
    if (placed.timing == FilterTiming.Late) filter.late(late) else filter
  }
}

/** An exchange that filters of a join are read from, and the join's conjuncts with their creation side's keys there. */
final private[springbok] case class FilterSource(exchange: SparkPlan, conjuncts: Seq[FilterConjunct])

private[springbok] object FilterSource {

  /**
   * What filters of a join are read from: the exchange that its creation side comes straight out of. If the creation side is
   * computed in the join's own stage, because it is partitioned by the join's keys already, it is an exchange below. Of
   * several exchanges that have not finished, the one with the fewest rows is taken.
   *
   * @param built
   *   the creation side, with the filters of other joins in it
   */
  def of(j: BaseJoinExec, creation: JoinSide, built: SparkPlan, rows: PhysicalRows): Option[FilterSource] =
    BuildSides.exchange(built) match {
      case Some(e) => Some(FilterSource(e, FilterConjunct.of(j, creation)))
      case None if !j.isInstanceOf[ShuffledJoin] => None
      case None =>
        val found =
          for {
            on <- FilterConjunct.of(j, creation)
            key <- FilterKey.of(on.creation).toSeq
            (e, there) <- below(built, key)
            at = on.copy(creation = there, from = Some(e))
            // There it is computed for rows that do not reach the join.
            if FilterKey.admissible(there) && BuildSides.sourceKey(e, j, creation, at, rows).isDefined
          } yield e -> at
        def size(e: SparkPlan) = rows.passing(e).flatMap(_.rows).fold(Double.MaxValue)(_.value)
        found.map(_._1).minByOption(e => (!BuildSides.finished(e), size(e))).map { best =>
          FilterSource(best, found.collect { case (e, on) if e eq best => on }.distinctBy(_.index))
        }
    }

  /** The shuffles that all values of a key have passed, and the key there. The search stops at groups. */
  private def below(p: SparkPlan, key: Expression): Seq[(SparkPlan, Expression)] = p match {
    case _: ShuffleExchangeExec | _: ShuffleQueryStageExec => Seq(p -> key)
    case _: UnionExec => Nil
    case _ if KeyTrace.groups(p) => Nil
    case _ => KeyTrace.routes(p, key).flatMap(r => below(p.children(r.child), r.key))
  }
}

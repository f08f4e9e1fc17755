package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.execution.springbok.AppliedRuntimeFilterExec
import org.apache.spark.sql.springbok.keys.{KeyLookup, SourceKey, SplitBlockBloom}
import org.apache.spark.sql.springbok.physical.LateFilter
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{BuildFacts, FilterRecord}
import org.apache.spark.sql.springbok.rules.runtimefilters.{FilterWorth, FinishedKeys, RowTestChoice, Verdict}

/** A late filter whose scan has started. Its build side must summarize its key. */
final private[springbok] case class StartedFilter(
    record: FilterRecord,
    sourceKey: SourceKey,
    bloomBytes: Long
)

/** The late filters of scans that have started. */
final private[springbok] class StartedFilters(planning: FilterPlanning) {

  /** Joins that got late filters in an earlier planning: no scans of other joins can have started without their filters. */
  private val joins = planning.query.joins.filter(_.lateFilters).map(_.id).toSet

  /**
   * The started filters of a join. Each planning looks for them, because it may be their build side that has just finished:
   * then they are decided.
   */
  def of(side: CreationSide): Seq[StartedFilter] =
    for {
      at <- if (joins(side.state.id)) LateFilter.expected(side.application) else Nil
      if at.info.record.join == side.state.id
      on <- side.source.conjuncts if on.index == at.info.record.key
      key <- BuildSides.sourceKey(side.source.exchange, side.join, side.side, on, planning.rows)
    } yield {
      for (late <- at.late if BuildSides.finished(side.source.exchange))
        late.decide(decided(at, key, side))
      StartedFilter(at.info.record, key, planning.selectivity.bloomBytes(side.join, side.side, on))
    }

  /** The filter for the scan's tasks, or that there is none because it is not worth its tests. */
  private def decided(at: AppliedRuntimeFilterExec, key: SourceKey, side: CreationSide): LateFilter.State = {
    val record = at.info.record
    val worth = new FilterWorth(at.info, at.key, planning.conf)
    def declined(why: Reason, found: BuildFacts): LateFilter.State = {
      record.decline(why, found)
      LateFilter.Never
    }
    FinishedKeys.read(key, side.source.exchange, worth, planning.conf) match {
      case Left(d) => declined(d.why, d.found)
      case Right(keys) =>
        val retained = keys.retained(at.info.domain)
        val found = BuildFacts(Some(keys.facts.rows), keys.distinct.map(_.round), retained)
        new RowTestChoice(worth, keys, planning.conf).ofKeys match {
          case Left(why) => declined(why, found)
          case Right(test) =>
            val late = Verdict.Apply(Left(Reason.scanStarted), Some(test), found)
            record.use("late" +: late.kinds, found, late.effect)
            val set = test.keySet.fold[KeyLookup](SplitBlockBloom.ofBytes(32))(_.built(keys))
            LateFilter.arrived(set)
        }
    }
  }
}

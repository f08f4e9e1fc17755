package org.apache.spark.sql.springbok.rules.runtimefilters.resolve

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.springbok.{BuildSideExec, RuntimeFilterExec}
import org.apache.spark.sql.springbok.catalyst.{OwnClasses, RuleGuard}
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.physical.LateFilterServer
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{FilterState, FilterTiming}

/**
 * Decides runtime filters when the stage of their scan is about to be created. Then their build side has finished, and its
 * actual keys show which of IN, min-max, bitmap and bloom filter are worth applying, if any.
 *
 * {{{
 *   RuntimeFilter RF000 -> l_orderkey            RuntimeFilter RF000[bloom, minmax] -> l_orderkey
 *   :- Scan parquet lineitem                =>   +- Scan parquet lineitem, DataFilters: l_orderkey >= 7, l_orderkey <= 9000
 *   +- ShuffleQueryStage 0
 * }}}
 *
 *   - A list, ranges or one range of the keys is pushed to the scan, as its `ScanConnector` says.
 *   - A bitmap or a bloom filter is tested row by row if the rows that it removes save more than all tests cost.
 *
 * '''When''': for each [[RuntimeFilterExec]] of the stage. A filter that is declined leaves its scan as it was.
 *
 * '''Why the answer cannot change''': only rows whose key is null or not on the build side are removed, and placing made
 * sure that the join drops these rows. A summary is used only if every map partition has reported; a broadcast relation is
 * always complete. If a summary is missing or incomplete, or the wait for it has ended before, the filter passes every row.
 *
 * '''Settings''': `spark.springbok.runtimeFilter.*`.
 */
object ResolveRuntimeFilters extends Rule[SparkPlan] {
  def apply(plan: SparkPlan): SparkPlan = {
    // This thread compiles the stage's code, or one that inherits its class loader. Another thread may have planned it.
    OwnClasses.makeVisible(): Unit
    if (!plan.exists(_.isInstanceOf[RuntimeFilterExec])) plan
    else {
      def record = plan.collectFirst { case f: RuntimeFilterExec => f.filter.join.query }
      RuleGuard("ResolveRuntimeFilters", dropped(plan), record) {
        plan.transformUp { case f: RuntimeFilterExec =>
          BuildSideExec
            .stage(f.source, plan)
            .fold(unfinished(f))(s => new FilterDecision(f.copy(source = s)(f.filter), conf).resolved)
        }
      }
    }
  }

  /** The scan does not wait any longer. If it can, it uses the filter when it arrives. */
  private def unfinished(f: RuntimeFilterExec): SparkPlan = {
    val record = f.filter.record
    if (f.filter.mayBeLate) {
      f.filter.join.place(_.copy(late = true))
      record.transition(s => s.filter.fold(s)(p => FilterState.Late(p.copy(timing = FilterTiming.Late))))
      f.late(LateFilterServer.register(conf.getConf(FilterConf.WAIT_TIME)))
    } else {
      record.decline(if (f.waits) Reason.waitEnded else Reason.noSummary)
      f.child
    }
  }

  private def dropped(plan: SparkPlan): SparkPlan = plan.transformUp { case f: RuntimeFilterExec =>
    f.filter.record.decline(Reason.failed)
    f.child
  }
}

package org.apache.spark.sql.springbok.rules.runtimefilters.resolve

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.springbok.RuntimeFilterExec
import org.apache.spark.sql.springbok.catalyst.{OwnClasses, RuleGuard}
import org.apache.spark.sql.springbok.reason.Reason

/**
 * Decides runtime filters when the stage of their scan is about to be made, and so their build side is finished: from the
 * keys that it really holds, which of IN, min-max, bitmap and bloom are worth applying, if any.
 *
 * {{{
 *   RuntimeFilter RF000 -> l_orderkey            RuntimeFilter RF000[bloom, minmax] -> l_orderkey
 *   :- Scan parquet lineitem                =>   +- Scan parquet lineitem, DataFilters: l_orderkey >= 7, l_orderkey <= 9000
 *   +- ShuffleQueryStage 0
 * }}}
 *
 *   - What [[ScanPruning]] finds is pushed to the scan: a list, ranges or one range of the keys.
 *   - A bitmap or a bloom filter is tested row by row where the rows it removes save more than all tests cost.
 *
 * '''Why the answer cannot change''': only rows are removed whose key is null or no key of the build side, and placing
 * made sure that the join drops those. The summary counts only if every map partition has reported; a broadcast relation
 * is complete by nature. Where a summary is missing or incomplete the filter passes every row.
 *
 * '''Settings''': `spark.springbok.runtimeFilter.*`.
 */
object ResolveRuntimeFilters extends Rule[SparkPlan] {
  def apply(plan: SparkPlan): SparkPlan = {
    // The stage's code is compiled by this thread, or by one that inherits its class loader; another may have planned it.
    OwnClasses.found(): Unit
    if (!plan.exists(_.isInstanceOf[RuntimeFilterExec])) plan
    else {
      def record = plan.collectFirst { case f: RuntimeFilterExec => f.info.query }
      RuleGuard("ResolveRuntimeFilters", dropped(plan), record) {
        plan.transformUp { case f: RuntimeFilterExec => new FilterDecision(f, conf).resolved }
      }
    }
  }

  private def dropped(plan: SparkPlan): SparkPlan = plan.transformUp { case f: RuntimeFilterExec =>
    f.info.record.decline(Reason.failed)
    f.child
  }
}

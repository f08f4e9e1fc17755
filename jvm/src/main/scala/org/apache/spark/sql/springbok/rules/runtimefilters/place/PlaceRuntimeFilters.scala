package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.springbok.{AppliedRuntimeFilterExec, RuntimeFilterExec}
import org.apache.spark.sql.springbok.catalyst.RuleGuard
import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.apache.spark.sql.springbok.record.JoinState

/**
 * Places runtime filters: for each key of an equi-join, an edge from the exchange of its build side to the scans of files
 * that the key of its probe side comes from.
 *
 * {{{
 *   SortMergeJoin l_orderkey = o_orderkey           SortMergeJoin l_orderkey = o_orderkey
 *   :- Exchange                                     :- Exchange
 *   :  +- Scan lineitem                         =>  :  +- RuntimeFilter RF000 -> l_orderkey   (second child: the
 *   +- Exchange                                     :     +- Scan lineitem                      exchange below)
 *      +- Filter                                    +- Exchange
 *         +- Scan orders                               +- RuntimeFilterSource RF000 <- o_orderkey
 *                                                         +- Filter
 *                                                            +- Scan orders
 * }}}
 *
 * Runs after `EnsureRequirements`, on the first plan and on each re-planning of adaptive execution, and finds the same
 * filters again. It works from the root down and finishes a join's build side before it enters the probe side: so an edge
 * holds the build side with its own filters, several hops agree with what stands under the joins, and there is no cycle.
 *
 * '''When''': the join removes probe rows without a match (inner; semi and right outer on the left; semi, left outer and
 * anti on the right); the build side comes out of an exchange (see [[BuildSides.source]]) and is deterministic; the key's type compares by
 * its bytes; statistics do not say that most rows would stay; the rows saved are worth the test, or the scan may prune.
 *
 * '''Why the answer cannot change''': see [[KeyTrace]] for the way down and [[ResolveRuntimeFilters]] for what is removed;
 * until it is decided the filter passes every row. A filter never goes below an exchange that the plan reads twice, nor
 * into a build side that dynamic partition pruning reads, so neither is computed twice.
 *
 * '''Settings''': `spark.springbok.runtimeFilter.*`.
 */
object PlaceRuntimeFilters extends Rule[SparkPlan] {
  def apply(plan: SparkPlan): SparkPlan = placed(plan, adaptive = true)

  /**
   * @param adaptive
   *   whether adaptive execution runs the plan; else see [[PlaceStaticFilters]]
   */
  private[springbok] def placed(plan: SparkPlan, adaptive: Boolean): SparkPlan = {
    def record = JoinState.first(plan)
    // A build side that prunes partitions is planned once more, with its filters in it.
    def done = plan.exists {
      case _: RuntimeFilterExec | _: AppliedRuntimeFilterExec => true
      case _ => false
    }
    if (!conf.getConf(SpringbokConf.ENABLED) || record.isEmpty || done) plan
    else
      RuleGuard("PlaceRuntimeFilters", plan, record.map(_.query)) {
        separately(plan, record.get, adaptive)
      }
  }

  private def separately(plan: SparkPlan, of: JoinState, adaptive: Boolean): SparkPlan = {
    val estimates = new JoinEstimates(conf, of.query.lasting, adaptive)
    val groups = new SeparateGroups(plan, estimates, adaptive, conf)
    val placement = new FilterPlacement(groups.separated, of, estimates, adaptive, conf)
    val placed = placement.place()
    // An exchange that no filter is read from is not worth its shuffle.
    if (!groups.withdrawn(placed)) placed
    else {
      placement.withdraw()
      separately(plan, of, adaptive)
    }
  }
}

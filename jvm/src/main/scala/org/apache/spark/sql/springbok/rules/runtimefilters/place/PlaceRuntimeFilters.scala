package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.springbok.{AppliedRuntimeFilterExec, RuntimeFilterExec}
import org.apache.spark.sql.springbok.catalyst.RuleGuard
import org.apache.spark.sql.springbok.conf.{ExchangeConf, SpringbokConf}
import org.apache.spark.sql.springbok.physical.PlanningEstimates
import org.apache.spark.sql.springbok.record.{FilterRecord, FilterState, JoinState, PlanningState}
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/**
 * Places runtime filters: for each equi-join key, a filter dependency of the scans that the key's application side comes from
 * on the exchange of the join's creation side.
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
 * Runs after `EnsureRequirements`, on the first plan and on each re-planning of adaptive execution, which finds the same
 * filters again. It works from the root down and finishes a join's creation side before it enters the application side. So a
 * filter dependency holds the creation side with its own filters, the copies agree with what stands under the joins, and
 * there is no cycle.
 *
 * '''When''': the join drops rows of the application side without a match (inner; semi and right outer on the left; semi, left
 * outer and anti on the right); the creation side comes out of an exchange (see [[FilterSource.of]]) and is deterministic; the
 * key's type compares by its bytes; statistics do not say that most rows would stay; the rows saved are worth the test, or the
 * scan may prune. [[Gate]] lists the conditions one by one.
 *
 * '''Why the answer cannot change''': see [[KeyTrace]] for the way down and `ResolveRuntimeFilters` for what is removed.
 * Until it is decided, a filter passes every row. A filter never goes below an exchange that the plan reads twice, nor into a
 * build side that dynamic partition pruning reads, so neither is computed twice.
 *
 * '''Settings''': `spark.springbok.runtimeFilter.*`.
 */
object PlaceRuntimeFilters extends Rule[SparkPlan] {
  def apply(plan: SparkPlan): SparkPlan = placed(plan, adaptive = true)

  /**
   * @param adaptive
   *   whether adaptive execution runs the plan. If not, see [[PlaceStaticFilters]]
   */
  private[springbok] def placed(plan: SparkPlan, adaptive: Boolean): SparkPlan = {
    lazy val query = JoinState.first(plan).map(_.query)
    // A build side that prunes partitions is planned once more, with its filters in place.
    def done = plan.exists {
      case _: RuntimeFilterExec | _: AppliedRuntimeFilterExec => true
      case _ => false
    }
    if (!conf.getConf(SpringbokConf.ENABLED) || query.isEmpty || done) plan
    else
      RuleGuard("PlaceRuntimeFilters", plan, query) {
        if (adaptive && isOver(plan, query.get)) plan else estimated(plan, query.get, adaptive)
      }
  }

  private def estimated(plan: SparkPlan, query: PlanningState, adaptive: Boolean): SparkPlan = {
    val stats = PlanningEstimates.of(plan, query)
    val made = place(plan, query, stats, adaptive)
    // ChooseShuffleWriter comes next.
    if (adaptive && conf.getConf(ExchangeConf.CHOOSE_WRITER))
      plan.logicalLink.foreach(query.handOver(stats, _))
    made
  }

  /**
   * Whether all scans have started, so that no filter finds a place, and nothing is left to be recorded: each join has been
   * planned, and each filter has been decided or is known to be obsolete.
   */
  private def isOver(plan: SparkPlan, query: PlanningState): Boolean = {
    def open(s: JoinState) = !s.firstPlanned || s.separated.isDefined || s.lateFilters
    def pending(f: FilterRecord) = f.state match {
      case p: FilterState.Placed => p.obsolete.isEmpty
      case _ => false
    }
    !plan.exists(FilterTargets.isScan) &&
    !plan.exists(p => JoinState.of(p).exists(open)) &&
    !query.log.filters.exists(pending)
  }

  private def place(
      plan: SparkPlan,
      query: PlanningState,
      stats: PlanStats,
      adaptive: Boolean
  ): SparkPlan = {
    val planning = new FilterPlanning(plan, query, stats, adaptive, conf)
    val groups = new SeparateGroups(plan, planning)
    val placed = new FilterPlacement(groups.separate(), planning).place()
    val unused = groups.unused(placed.plan)
    if (unused.isEmpty) placed.plan
    else {
      unused.foreach(_.keepGroups())
      query.log.withdraw(placed.fresh)
      place(plan, query, stats, adaptive)
    }
  }
}

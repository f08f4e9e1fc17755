package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildSide}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.springbok.catalyst.RuleGuard
import org.apache.spark.sql.springbok.cost.Strategy
import org.apache.spark.sql.springbok.record.{JoinDecision, JoinState, PlanningState}

/**
 * Chooses how each join is executed, by Impala's costs, and says so in a hint that Spark's planner follows.
 *
 * {{{
 *   Join Inner, (l_orderkey = o_orderkey)        Join Inner, (...), rightHint=(strategy=broadcast)
 *   :- lineitem                              =>  :- lineitem
 *   +- orders, filtered                          +- orders, filtered
 * }}}
 *
 * It runs twice. Late in the optimizer, after join reorder and dynamic partition pruning, on estimates; and in adaptive
 * execution after each stage ([[ReviseJoinStrategy]]), on what the finished stages really hold.
 *
 * '''When it leaves all joins alone''': the query is left to Spark ([[LeaveToSpark]]).
 *
 * '''When it leaves a join alone''': the query gave a hint that can be followed; its build side prunes partitions;
 * statistics are missing (`spark.springbok.join.defaultMode`); every strategy is ruled out; an expression above it tells which
 * file is being read ([[OpenFile]]); its condition has a function of another extension and no equality; its rows are coalesced
 * into fewer partitions than there are cores; `spark.springbok.join.enabled` is false.
 *
 * '''Why the answer cannot change''': only the hint of a `Join` is set, never its inputs, type or condition, and every
 * strategy that Spark plans for a join computes the same join. Where Spark would broadcast a side, it computes some columns of
 * the other side for matching rows only. If one of them may raise an error, Spark's broadcast stays ([[DeferredErrors]]).
 *
 * '''Settings''': `spark.springbok.join.*`, `.stats.*` and `.cluster.*`; Spark's `spark.sql.join.preferSortMergeJoin`.
 * What filters save counts, so `spark.springbok.runtimeFilter.mode`, `.wait`, `.minBenefitMs` and `.minRejection` count as well.
 */
object ChooseJoinStrategy extends Rule[LogicalPlan] {
  def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case _ if PlanningState.leavesAlone(plan, conf) || !plan.exists(_.isInstanceOf[Join]) => plan
    case _ =>
      val query = PlanningState.adoptQuery(plan)
      RuleGuard("ChooseJoinStrategy", JoinStates.undecided(plan, query), Some(query)) {
        // Spark runs the batch again until nothing changes.
        if (plan.exists(JoinState.isMissing)) chosen(plan, query) else plan
      }
  }

  private def chosen(plan: LogicalPlan, query: PlanningState): LogicalPlan = {
    OpenFile.mark(plan)
    JoinChooser.decide(plan, query) { (j, above, chooser) =>
      if (JoinState.isMissing(j)) chooser().choose(j, above, query) else j
    }
  }
}

/** Tells Spark's planner the chosen strategy by a hint on the join. */
private[joins] object ApplyHint {

  /**
   * @param decided
   *   what the hint stands for from now on
   */
  def apply(j: Join, state: JoinState, chosen: Strategy, decided: Option[JoinDecision]): Join = {
    // Springbok's own earlier hint gives way to the query's.
    val hint = of(chosen).getOrElse(if (state.strategies.hinted) state.userHint else j.hint)
    state.decide(_.copy(hinted = chosen != Strategy.Spark))
    val before = j.getTagValue(JoinState.decisionTag)
    val now = decided.filterNot(d => before.exists(_.choice == d.choice)).orElse(before)
    // If adaptive execution rejects this planning, the plan that it keeps still has the node with the old decision.
    val out = if (hint == j.hint && (before.isEmpty || now == before)) j else j.copy(hint = hint)
    if (out ne j) out.copyTagsFrom(j)
    out.setTagValue(JoinState.tag, state)
    now.foreach(out.setTagValue(JoinState.decisionTag, _))
    out
  }

  /** The hint that stands for a strategy. */
  def of(chosen: Strategy): Option[JoinHint] = chosen match {
    case Strategy.Broadcast(side) => Some(on(side, BROADCAST))
    case Strategy.ShuffledHash(side) => Some(on(side, SHUFFLE_HASH))
    case Strategy.SortMerge => Some(on(BuildLeft, SHUFFLE_MERGE))
    case Strategy.NestedLoop(side) => Some(on(side, BROADCAST))
    case Strategy.Cartesian => Some(on(BuildLeft, SHUFFLE_REPLICATE_NL))
    case Strategy.Spark => None
  }

  private def on(side: BuildSide, s: JoinStrategyHint): JoinHint = {
    val info = Some(HintInfo(Some(s)))
    if (side == BuildLeft) JoinHint(info, None) else JoinHint(None, info)
  }
}

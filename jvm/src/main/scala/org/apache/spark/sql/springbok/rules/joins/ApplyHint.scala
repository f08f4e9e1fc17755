package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildSide}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.springbok.cost.Strategy
import org.apache.spark.sql.springbok.record.{JoinDecision, JoinState}

/** Tells Spark's planner the chosen strategy by a hint on the join. */
private[joins] object ApplyHint {

  /**
   * @param decided
   *   what the hint stands for from now on
   */
  def apply(j: Join, state: JoinState, chosen: Strategy, decided: Option[JoinDecision]): Join = {
    // Springbok's own earlier hint gives way to the query's.
    val hint = of(chosen).getOrElse(if (state.hinted) state.userHint else j.hint)
    state.hinted = chosen != Strategy.Spark
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

package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical.{Join, JoinHint, LogicalPlan}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.springbok.catalyst.{ExpressionLabel, Survivable}
import org.apache.spark.sql.springbok.cost.{Constraint, JoinChoice, Strategy}
import org.apache.spark.sql.springbok.record.{JoinDecision, JoinState, LoggedJoin, PlanningState}

/** Gives joins their states, which the log and the report show. */
private[joins] object JoinStates {

  def add(j: Join, query: PlanningState): JoinState = query.addJoin { id =>
    val (left, right, other) = ExtractEquiJoinKeys.unapply(j) match {
      case Some((_, l, r, o, _, _, _, _)) =>
        (l.map(ExpressionLabel), r.map(ExpressionLabel), o.map(ExpressionLabel))
      case None => (Nil, Nil, j.condition.map(ExpressionLabel))
    }
    new LoggedJoin(id, LoggedJoin.typeName(j.joinType), left, right, other, j.hint, sparks(j))
  }

  /** What Spark's own planner makes of a join, by the sizes that it knows. */
  private def sparks(j: Join): Option[Strategy] = {
    // Spark warns of hints that it cannot follow, once more when it plans the join.
    val quiet =
      if (j.hint == JoinHint.NONE) j
      else j.copy(hint = UserHints.possible(j.hint, PossibleStrategies.hints(j)))
    SparkSession.active.sessionState.planner.JoinSelection(quiet).collectFirst { case p: BaseJoinExec =>
      Strategy.of(p)
    }
  }

  /**
   * The plan as it is, with its joins on record, so that the report shows the failure. A join whose record is what failed
   * stays without one.
   */
  def undecided(plan: LogicalPlan, query: PlanningState): LogicalPlan = {
    plan.foreach {
      case j: Join if JoinState.isMissing(j) =>
        for (r <- added(j, query)) {
          val undecided = JoinDecision(JoinChoice.spark(Constraint.RuleFailed), None, None, None)
          r.decide(undecided, held = 0)
          j.setTagValue(JoinState.tag, r)
          j.setTagValue(JoinState.decisionTag, undecided)
        }
      case _ =>
    }
    plan
  }

  private def added(j: Join, query: PlanningState): Option[JoinState] =
    try Some(add(j, query))
    catch { case e if Survivable(e) => None }
}

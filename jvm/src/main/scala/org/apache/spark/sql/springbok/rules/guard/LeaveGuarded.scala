package org.apache.spark.sql.springbok.rules.guard

import java.util.concurrent.ThreadLocalRandom

import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{Fingerprint, RuleGuard}
import org.apache.spark.sql.springbok.conf.{GuardConf, SpringbokConf}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{PlanningState, RelationHint}

/**
 * Leaves single queries to Spark, before anything is planned: those with the hint `SPRINGBOK_OFF`, those whose [[Fingerprint]] is
 * on a list, a share of all runs as a control group, and those that were slower than their control group ([[RunTimes]]).
 *
 * A query is the whole statement, subqueries included. The copy of its plan that is planned carries the reason on its nodes
 * ([[PlanningState.exclude]]).
 *
 * '''Why the answer cannot change''': such a query has the plan that Spark makes. No rows depend on a hint.
 *
 * '''Settings''': `spark.springbok.guard.*`.
 */
final private[springbok] class LeaveGuarded(session: SparkSession) extends Rule[LogicalPlan] {
  import LeaveGuarded._

  private val listed = new ExcludedFile(session)

  // Plans are normalized outside of the optimizer, where the thread may have another session or none.
  override def apply(plan: LogicalPlan): LogicalPlan = session.withActive {
    val conf = session.sessionState.conf
    if (!SpringbokConf.plans(conf) || plan.isStreaming) plan
    else
      RuleGuard("LeaveGuarded", plan, None) {
        val bare = if (plan.exists(isHint)) withoutHint(plan) else plan
        val why = if (bare ne plan) Some(Reason.hintedOff) else reason(plan, conf)
        why.fold(bare)(PlanningState.exclude(bare, _))
      }
  }

  private def reason(plan: LogicalPlan, conf: SQLConf): Option[Reason] = {
    val (exclude, file) = (conf.getConf(GuardConf.EXCLUDE), conf.getConf(GuardConf.EXCLUDE_FILE))
    val (share, automatic) = (conf.getConf(GuardConf.CONTROL), conf.getConf(GuardConf.AUTOMATIC))
    lazy val id = Fingerprint.of(plan)
    // The fingerprint of a query is computed only where something depends on it.
    if (exclude.nonEmpty && exclude.contains(id) || file.nonEmpty && listed.of(file)(id))
      Some(Reason.excluded(id))
    else if (automatic && RunTimes.of(id).slower) Some(Reason.guarded(id))
    else Option.when(share > 0 && ThreadLocalRandom.current.nextDouble() < share)(Reason.controlGroup)
  }
}

private object LeaveGuarded {
  def isHint(p: LogicalPlan): Boolean = p match {
    case ResolvedHint(_, hint) => hint eq RelationHint.OFF
    case _ => false
  }

  /** Without the hint, since Spark would warn of a hint that reaches no join. */
  def withoutHint(plan: LogicalPlan): LogicalPlan = plan.transformWithSubqueries {
    case h: ResolvedHint if isHint(h) => h.child
  }
}

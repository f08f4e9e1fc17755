package org.apache.spark.sql.springbok.physical

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{BroadcastQueryStageExec, LogicalQueryStage, QueryStageExec}
import org.apache.spark.sql.execution.springbok.{AppliedRuntimeFilterExec, BroadcastKeys}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.record.{JoinState, PlanningState}
import org.apache.spark.sql.springbok.stats.RuntimeFeedback
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/** Reads the feedback from the stages' physical plans. Remembers the filters of each stage, so one instance serves one planning. */
final private[springbok] class StageFeedback extends RuntimeFeedback {
  private val known = new IdentityHashMap[SparkPlan, Seq[AppliedRuntimeFilterExec]]()

  override def retained(stage: SparkPlan): Double = filters(stage).flatMap(_.filter.record.retained).product

  override def retainedFor(join: Join, side: LogicalPlan): Option[Double] =
    JoinState.of(join).flatMap { state =>
      val own = side
        .collect { case s: LogicalQueryStage => filters(s.physicalPlan) }
        .flatten
        .filter(f => f.predicate.isDefined && f.filter.record.join == state.id)
        .map(_.filter.record)
      Option.when(own.nonEmpty)(own.distinctBy(_.key).flatMap(_.retained).filter(_ > 0).product)
    }

  override def keysAreUnique(broadcast: BroadcastQueryStageExec): Option[Boolean] =
    BroadcastKeys.unique(broadcast, SQLConf.get)

  /** The runtime filters that are at work in a stage. */
  private def filters(stage: SparkPlan): Seq[AppliedRuntimeFilterExec] = known.computeIfAbsent(
    stage,
    {
      case q: QueryStageExec =>
        q.plan.collect { case f: AppliedRuntimeFilterExec if f.filter != null && f.late.isEmpty => f }
      case _ => Nil
    }
  )
}

/** Estimates of one planning, with what the stages tell that run or have finished. */
private[springbok] object PlanningEstimates {

  def apply(lasting: PlanStats.Lasting): PlanStats = new PlanStats(Some(new StageFeedback), lasting)

  /** Those of the rule before, or new ones if it has not asked for any. */
  def of(plan: SparkPlan, query: PlanningState): PlanStats =
    query.takeOver(plan).getOrElse(apply(query.lasting))
}

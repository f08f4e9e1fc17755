package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{
  AdaptiveSparkPlanExec,
  AdaptiveSparkPlanHelper,
  QueryStageExec
}
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.springbok.cost.Strategy
import org.apache.spark.sql.springbok.record.{FilterRecord, JoinState, LoggedJoin}

/** A line for each join and each runtime filter of a plan, with the reason. */
private[springbok] object ExplainSection extends AdaptiveSparkPlanHelper {

  def of(plan: SparkPlan): String = plan match {
    // Spark describes the plan for its listeners after each stage. Decisions are shown when all have been made.
    case a: AdaptiveSparkPlanExec
        if !a.isFinalPlan && a.executedPlan.exists(_.isInstanceOf[QueryStageExec]) =>
      ""
    case _ => decisions(plan)
  }

  private def decisions(plan: SparkPlan): String = {
    val record = collectWithSubqueries(plan) { case j: BaseJoinExec => j }.iterator
      .flatMap(JoinState.of(_))
      .nextOption()
      .map(_.query.log)
    record.fold("")(r =>
      (r.joins.map(join) ++ r.filters.map(filter) ++ r.failures.map(failure)).mkString("\n")
    )
  }

  private def join(j: LoggedJoin): String = {
    val keys = j.leftKeys.zip(j.rightKeys).map { case (l, r) => s"$l = $r" }.mkString(", ")
    val choice = j.latest.orElse(j.planned).map(_.choice)
    val what = choice.fold("undecided") { c =>
      s"${Strategy.label(c.chosen)} (${c.reason.code}: ${c.reason.text})"
    }
    s"join ${j.id} ${j.joinType} $keys: $what"
  }

  private def filter(f: FilterRecord): String = {
    val target = f.target.map(t => s" -> ${t.table}.${t.column}")
    val state = f.state
    val status = FilterReport.status(state, ran = false)
    s"${f.id} ${f.sourceKey}${target.getOrElse("")} of join ${f.join}: $status (${state.reason.code}: ${state.reason.text})"
  }

  private def failure(f: (String, String)): String =
    s"${f._1} failed with ${f._2}; the plan went on without it"
}

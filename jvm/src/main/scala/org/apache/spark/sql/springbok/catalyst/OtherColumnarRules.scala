package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{ApplyColumnarRulesAndInsertTransitions, ColumnarRule, SparkPlan}

/** Other extensions' columnar rules. Native engines replace operators by them. */
private[springbok] object OtherColumnarRules {

  /** Those of the active session, without Springbok's own. Some of them may do nothing in this session. */
  def all: Seq[ColumnarRule] = SparkSession.active.sessionState.columnarRules
    .filterNot(_.getClass.getName.startsWith("org.apache.spark.sql.springbok."))

  /**
   * The name of a rule that replaces operators of this plan, if there is one. What a rule does depends on the plan and on
   * settings of its own, so it is tried, on a copy: rules write tags on the nodes that they see.
   */
  def replacing(plan: SparkPlan): Option[String] = {
    val others = all
    if (others.isEmpty) None
    else {
      // The engine may have preparation rules as well, which run before Springbok's if its extension comes first.
      val replaced = plan.find(p => p.supportsColumnar && !isSparks(p)).map(_.nodeName)
      lazy val before = classes(plan, Nil)
      replaced.orElse(
        others.find(r => !isIdle(r, plan, before)).map(_.getClass.getSimpleName.stripSuffix("$"))
      )
    }
  }

  /** Whether the rule brings no class of operators into the plan. One that fails may do so elsewhere. */
  private def isIdle(rule: ColumnarRule, plan: SparkPlan, before: Set[Class[_]]): Boolean =
    try classes(plan, Seq(rule)).subsetOf(before)
    catch { case e if Survivable(e) => false }

  private def classes(plan: SparkPlan, rules: Seq[ColumnarRule]): Set[Class[_]] =
    ApplyColumnarRulesAndInsertTransitions(rules, outputsColumnar = false)(plan.clone()).collect { case p =>
      p.getClass: Class[_]
    }.toSet

  private def isSparks(p: SparkPlan): Boolean =
    p.getClass.getName.startsWith("org.apache.spark.sql.execution.")
}

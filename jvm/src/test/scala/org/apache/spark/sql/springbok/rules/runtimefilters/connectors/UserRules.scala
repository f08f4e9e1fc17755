package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Sort}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SortExec, SparkPlan, SparkStrategy, UnaryExecNode}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

/** An extension such as a user may have. What each of its rules does shows in the plan, or in the answer. */
class UserRules extends (SparkSessionExtensions => Unit) {
  override def apply(e: SparkSessionExtensions): Unit = {
    e.injectPostHocResolutionRule(_ => UserRules.HideRows)
    e.injectOptimizerRule(_ => UserRules.FillIn)
    e.injectPlannerStrategy(_ => UserRules.PlanSorts)
    e.injectColumnar(_ => UserRules.WrapJoins)
  }
}

object UserRules {

  /** A rule for access to rows: nobody sees an Iceberg row whose `id` is a multiple of five. */
  object HideRows extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
      case r: DataSourceV2Relation if r.name.endsWith("guarded") =>
        val id = r.output.find(_.name == "id").get
        Filter(Not(EqualTo(Remainder(id, Literal(5L)), Literal(0L))), r)
    }
  }

  /** A rule of the optimizer, which replaces a text. */
  object FillIn extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan = plan.transformAllExpressions {
      case l @ Literal(s: UTF8String, _: StringType) if s.toString == "{user}" =>
        l.copy(value = UTF8String.fromString("a user"))
    }
  }

  object PlanSorts extends SparkStrategy {
    override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
      case s: Sort if s.global => UserExec("sort", SortExec(s.order, true, planLater(s.child))) :: Nil
      case _ => Nil
    }
  }

  object WrapJoins extends ColumnarRule {
    override def preColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
      override def apply(plan: SparkPlan): SparkPlan =
        plan.transformUp { case j: BaseJoinExec => UserExec("join", j) }
    }
  }
}

/** An operator of a user's extension, which hands on the rows of its child. */
case class UserExec(what: String, child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override protected def doExecute(): RDD[InternalRow] = child.execute()
  override protected def withNewChildInternal(newChild: SparkPlan): UserExec = copy(child = newChild)
}

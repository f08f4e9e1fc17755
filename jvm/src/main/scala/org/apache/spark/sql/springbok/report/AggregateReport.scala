package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.springbok.catalyst.ExpressionLabel
import org.apache.spark.sql.springbok.report.model.{AggregateEntry, AggregateFunctionEntry}

/** What an operator aggregates, and in which phase: Impala's `TAggregationNode`. */
private[report] object AggregateReport {
  def of(p: SparkPlan): Option[AggregateEntry] = p match {
    case a: BaseAggregateExec =>
      val functions =
        a.aggregateExpressions.map(f => AggregateFunctionEntry(Shown.plain(ExpressionLabel(f)), name(f.mode)))
      Some(AggregateEntry(phase(a, functions), a.groupingExpressions.map(FragmentReport.text), functions))
    case _ => None
  }

  private def phase(a: BaseAggregateExec, functions: Seq[AggregateFunctionEntry]): String =
    functions.map(_.phase).distinct match {
      case Seq(one) => one
      // Groups alone: the first operator takes rows wherever they are, and the second one whole groups.
      case Seq() => if (a.requiredChildDistributionExpressions.isEmpty) "partial" else "final"
      case _ => "mixed"
    }

  private def name(m: AggregateMode): String = m match {
    case Partial => "partial"
    case PartialMerge => "merge"
    case Final => "final"
    case Complete => "complete"
  }
}

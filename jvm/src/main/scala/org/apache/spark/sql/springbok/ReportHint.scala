package org.apache.spark.sql.springbok

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, UnresolvedHint}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.UNRESOLVED_HINT
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{CommandExecutionMode, QueryExecution}
import org.apache.spark.sql.springbok.catalyst.SparkPlanning
import org.apache.spark.sql.springbok.report.{LastReports, SpringbokReport, WhatIf}
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

/**
 * The hint `SPRINGBOK_REPORT` replaces a query by its report: one row with one column of JSON. So a client that cannot call the
 * JVM gets reports as well: Spark Connect, Thrift and JDBC. The query itself does not run.
 *
 * Parameters: none for the plan; `observed` for the last run, null if there is none; or settings such as
 * `spark.springbok.enabled=false`, under which the query is planned.
 *
 * It rewrites no query without the hint. No answer can change, because a query with the hint asks for its report.
 */
final private[springbok] class ReportHint(session: SparkSession) extends Rule[LogicalPlan] {
  import ReportHint._

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan.resolveOperatorsUpWithPruning(_.containsPattern(UNRESOLVED_HINT)) {
      case h: UnresolvedHint if h.name.equalsIgnoreCase(name) && h.child.resolved =>
        val json = report(h.child, SparkPlanning.hintParameters(h).map(text))
        LocalRelation(
          Seq(AttributeReference(column, StringType)()),
          Seq(InternalRow(UTF8String.fromString(json)))
        )
    }

  /** Null if a run is asked for and there is none. */
  private def report(query: LogicalPlan, parameters: Seq[String]): String = {
    val qe: QueryExecution = session.sessionState.executePlan(query, CommandExecutionMode.SKIP)
    val settings = parameters.collect { case setting(key, value) => key -> value }.toMap
    if (parameters.contains(observed)) LastReports.of(qe)
    else if (settings.nonEmpty) WhatIf.json(qe, settings.asJava)
    else SpringbokReport.json(qe)
  }

  /** A parameter that is no text is none of those above, and is ignored. */
  private def text(e: Expression): String = if (e.foldable) String.valueOf(e.eval()) else e.sql
}

private[springbok] object ReportHint {
  val name = "SPRINGBOK_REPORT"
  val column = "springbok_report"
  private val observed = "observed"
  private val setting = "(spark\\.[^=]+)=(.*)".r
}

package org.apache.spark.sql.springbok

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.AnalysisContext
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Literal}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.UNRESOLVED_HINT
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{CommandExecutionMode, QueryExecution}
import org.apache.spark.sql.execution.datasources.CreateTable
import org.apache.spark.sql.springbok.catalyst.SparkPlanning
import org.apache.spark.sql.springbok.report.{LastReports, SpringbokReport, WhatIf}
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

/**
 * The hint `SPRINGBOK_REPORT` replaces a query by its report: one row with one column of JSON. So a client that cannot call the
 * JVM gets reports as well: Spark Connect, Thrift and JDBC. The query itself does not run.
 *
 * Parameters: none for the plan; `observed` for the last run, null if there is none; or settings such as
 * `spark.springbok.enabled=false`, under which the query is planned. Others, and settings that Spark refuses, are ignored with
 * the warning that Spark gives for a hint that it does not know.
 *
 * The report is that of the whole statement: an ORDER BY, a LIMIT, a WITH, an INSERT or a CREATE TABLE AS around the query that
 * has the hint belongs to it, and does not run either. Elsewhere, as in a subquery or a view, where the rows of a report would
 * make the statement fail, the hint is left to Spark, which warns and ignores it.
 *
 * It rewrites no query without the hint. No answer can change, because a query with the hint asks for its report.
 */
final private[springbok] class ReportHint(session: SparkSession) extends Rule[LogicalPlan] {
  import ReportHint._

  override def apply(plan: LogicalPlan): LogicalPlan = {
    val context = AnalysisContext.get
    val isPart = context.outerPlan.isDefined || context.nestedViewDepth > 0
    if (!plan.containsPattern(UNRESOLVED_HINT) || isPart) plan
    else ofStatement(plan).fold(plan) { case (hint, statement) => report(statement, hint) }
  }

  /** The hint on the statement's own query, and the statement without it. */
  private def ofStatement(plan: LogicalPlan): Option[(UnresolvedHint, LogicalPlan)] = plan match {
    case h: UnresolvedHint if h.name.equalsIgnoreCase(name) => Some(h -> h.child)
    case _: CreateView | _: AlterViewAs => None
    case _: Command | _: ParsedStatement | _: CreateTable | _: WithCTE | _: WithWindowDefinition | _: Sort |
        _: GlobalLimit | _: LocalLimit | _: Offset | _: UnresolvedHint | _: ResolvedHint =>
      plan.children.view.flatMap(c => ofStatement(c).map(c -> _)).headOption.map {
        case (child, (hint, without)) =>
          hint -> plan.withNewChildren(plan.children.map(c => if (c eq child) without else c))
      }
    case _ => None
  }

  private def report(query: LogicalPlan, hint: UnresolvedHint): LogicalPlan = {
    val json = this.json(query, hint)
    LocalRelation(
      Seq(AttributeReference(column, StringType)()),
      Seq(InternalRow(UTF8String.fromString(json)))
    )
  }

  /** Null if a run is asked for and there is none. */
  private def json(query: LogicalPlan, hint: UnresolvedHint): String = {
    val qe: QueryExecution = session.sessionState.executePlan(query, CommandExecutionMode.SKIP)
    val parameters = SparkPlanning.hintParameters(hint)
    val texts = parameters.collect { case Literal(text: UTF8String, _: StringType) => text.toString }
    val settings = texts.collect { case setting(key, value) => key -> value }.toMap
    def ignored(): Unit = conf.hintErrorHandler.hintNotRecognized(hint.name, parameters)
    if (parameters.size > settings.size + texts.count(_ == observed)) ignored()
    if (texts.contains(observed)) LastReports.of(qe)
    else if (settings.isEmpty) SpringbokReport.json(qe)
    else
      try WhatIf.json(qe, settings.asJava)
      catch {
        case _: IllegalArgumentException | _: AnalysisException =>
          ignored()
          SpringbokReport.json(qe)
      }
  }
}

private[springbok] object ReportHint {
  val name = "SPRINGBOK_REPORT"
  val column = "springbok_report"
  private val observed = "observed"
  private val setting = "(spark\\.[^=]+)=(.*)".r
}

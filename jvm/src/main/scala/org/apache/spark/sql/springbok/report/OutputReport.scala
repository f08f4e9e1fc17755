package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.catalyst.expressions.{Alias, ExprId, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{CommandResult, LogicalPlan}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.ExpressionLabel
import org.apache.spark.sql.springbok.conf.ReportConf
import org.apache.spark.sql.springbok.report.model.{OutputEntry, SinkEntry}

/**
 * What a statement gives or writes: its columns, where they come from, and where they go. It is made of the analyzed plan,
 * which still has all that the query says.
 */
final private[springbok] class OutputReport(analyzed: LogicalPlan) {
  private val statement = OutputReport.statement(analyzed)
  private val write = Write.of(statement)
  private val reads = write.fold(Seq(statement))(_.reads)

  def sink: Option[SinkEntry] = write.map(_.sink)

  private val columns =
    write.fold(statement.output.map(a => WrittenColumn(a.name, a.dataType, Seq(a))))(_.columns)

  private lazy val lineage: ColumnLineage = {
    val found = new ColumnLineage(sink.filter(_.mode == "merge").flatMap(_.table))
    reads.foreach(found.read)
    found.decide(write.toSeq.flatMap(_.conditions))
    found
  }

  def entries: Seq[OutputEntry] =
    columns.map(c => OutputEntry(name(c), c.dataType.sql, OutputReport.some(lineage.sources(c.values))))

  /** Columns of base tables that decide which rows there are. */
  def predicates: Seq[String] = lineage.predicates

  private def name(c: WrittenColumn): String =
    c.values.flatMap(_.references).flatMap(a => withLiterals.get(a.exprId)).headOption.getOrElse(c.name)

  /** Labels for names that hold literals, as Spark makes them of expressions, where the report may show none. */
  private lazy val withLiterals: Map[ExprId, String] =
    if (SQLConf.get.getConf(ReportConf.LITERALS)) Map.empty
    else
      reads
        .flatMap(_.collect { case p => p.expressions.flatMap(_.collect { case a: Alias => a }) })
        .flatten
        .filter(OutputReport.namesLiteral)
        .map(a => a.exprId -> ExpressionLabel(a.child))
        .toMap
}

private[springbok] object OutputReport {

  /** Columns that one column comes from. A function of users makes each of thousands of columns from all of them. */
  private val mostSources = 100

  private def some(sources: Seq[String]): Seq[String] =
    if (sources.size <= mostSources) sources
    else sources.take(mostSources) :+ s"and ${sources.size - mostSources} more"

  /** The command, if the plan is its result. */
  private def statement(p: LogicalPlan): LogicalPlan = p match {
    case c: CommandResult => statement(c.commandLogicalPlan)
    case other => other
  }

  private def namesLiteral(a: Alias): Boolean =
    a.child.collect { case l: Literal => l.toString }.exists(t => t.nonEmpty && a.name.contains(t))
}

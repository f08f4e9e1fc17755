package org.apache.spark.sql.springbok.report

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{BaseTable, ExpressionLabel}
import org.apache.spark.sql.springbok.conf.ReportConf
import org.apache.spark.sql.springbok.report.model.{KeyColumnEntry, OutputEntry, SinkEntry}

/**
 * The columns of base tables that the columns of analyzed plans derive from, as in Impala's lineage graph: the values of each
 * column come from some (projection edges), and others decide which rows there are (predicate edges): those in conditions of
 * filters and joins, keys of groups and windows, and the order that a limit cuts.
 *
 * @param target
 *   the full name of the table that a MERGE writes: what keeps a column as it is gives it no source
 */
final private[report] class ColumnLineage(target: Option[String]) {
  private type Columns = Set[String]

  private val known = mutable.HashMap.empty[ExprId, Columns]
  private val deciding = mutable.Set.empty[String]
  private val ctes = mutable.HashMap.empty[Long, LogicalPlan]

  /** The columns that decide which rows there are, of all plans that were read. */
  def predicates: Seq[String] = deciding.toSeq.sorted

  /** The columns that values are computed from. */
  def sources(values: Seq[Expression]): Seq[String] = values.flatMap(columns).distinct.sorted

  /** Adds the columns of conditions. */
  def decide(by: Seq[Expression]): Unit = deciding ++= by.flatMap(columns)

  /** Learns the columns of a plan. */
  def read(p: LogicalPlan): Unit = {
    p.children.foreach(read)
    p.expressions.foreach(_.foreach {
      case s: SubqueryExpression => read(s.plan)
      case _ =>
    })
    filtered(p)
    p match {
      case BaseTable(table) => p.output.foreach(a => learn(a, Set(BaseTable.column(table, a.name))))
      case d: CTERelationDef => ctes(d.id) = d
      case r: CTERelationRef => ctes.get(r.cteId).foreach(d => align(r.output, Seq(d.output)))
      case p: Project => define(p.projectList)
      case a: Aggregate => define(a.aggregateExpressions)
      case w: Window => define(w.windowExpressions)
      case g: Generate => g.generatorOutput.foreach(learn(_, columns(g.generator)))
      case e: Expand => align(e.output, e.projections)
      case u: Union => align(u.output, u.children.map(_.output))
      case m: MergeRows => merged(m)
      case other => computed(other)
    }
  }

  private def filtered(p: LogicalPlan): Unit = p match {
    case f: Filter => decide(Seq(f.condition))
    case j: Join => decide(j.condition.toSeq)
    case j: LateralJoin => decide(j.condition.toSeq)
    case a: Aggregate => decide(a.groupingExpressions)
    case w: Window => decide(w.partitionSpec ++ w.orderSpec)
    case d: Deduplicate => decide(d.keys)
    case s: SetOperation => decide(s.right.output)
    case l @ (_: GlobalLimit | _: LocalLimit | _: Offset | _: Tail) => decide(order(l.children.head))
    case _ =>
  }

  /** The order that rows come in. */
  private def order(p: LogicalPlan): Seq[Expression] = p match {
    case s: Sort => s.order
    case _: Project | _: SubqueryAlias => order(p.children.head)
    case _ => Nil
  }

  private def learn(a: Attribute, from: Columns): Unit = known(a.exprId) = from

  private def define(named: Seq[NamedExpression]): Unit = named.foreach {
    case a: Alias => learn(a.toAttribute, columns(a.child))
    case _ =>
  }

  /** Columns that get their values from several rows of expressions, by position. */
  private def align(output: Seq[Attribute], rows: Seq[Seq[Expression]]): Unit =
    output.zipWithIndex
      .map { case (a, i) => a -> rows.flatMap(_.lift(i)).flatMap(columns).toSet }
      .foreach { case (a, from) => learn(a, from) }

  /** The rows that a MERGE writes. */
  private def merged(m: MergeRows): Unit = {
    val instructions = m.matchedInstructions ++ m.notMatchedInstructions ++ m.notMatchedBySourceInstructions
    decide(instructions.map(_.condition))
    val rows = instructions.flatMap(_.outputs)
    m.output.zipWithIndex.foreach { case (a, i) =>
      learn(a, rows.flatMap(_.lift(i)).filterNot(keeps(a.name, _)).flatMap(columns).toSet)
    }
  }

  private def keeps(column: String, value: Expression): Boolean = value match {
    case a: Attribute => target.exists(t => columns(a) == Set(BaseTable.column(t, column)))
    case _ => false
  }

  /** An operator that computes columns in a way of its own: each may come from all that it reads. */
  private def computed(p: LogicalPlan): Unit = {
    val made = p.output.filterNot(a => known.contains(a.exprId))
    if (p.children.size > 1 && p.children.forall(_.output.size == made.size))
      align(made, p.children.map(_.output))
    else {
      val from = if (p.references.nonEmpty) p.references.toSeq else p.children.flatMap(_.output)
      // One set for all: there may be thousands of columns.
      val all = from.flatMap(columns).toSet
      made.foreach(learn(_, all))
    }
  }

  private def columns(e: Expression): Columns = e match {
    case a: Attribute => known.getOrElse(a.exprId, Set.empty)
    case o: OuterReference => columns(o.e)
    case w: WindowExpression => columns(w.windowFunction)
    case _: Exists => Set.empty
    case s: SubqueryExpression => s.plan.output.flatMap(columns).toSet
    case other => other.children.flatMap(columns).toSet
  }
}

/** Where the rows of a plan's operators come from, and the keys of its joins. */
final private[report] class KeyOrigins(graph: PlanGraph, tables: TablesRead) {
  private val below = mutable.Map.empty[Int, Seq[Int]]

  // A fragment stands before its readers, and a parent before its children.
  for (f <- graph.fragments; n <- f.nodes.reverseIterator) below(n.id) = of(n)

  private def of(n: PlanNode): Seq[Int] =
    if (n.inputs.nonEmpty) n.inputs.toSeq.flatMap(read).distinct
    else PlanNumbers.link(n.plan).flatMap(_.collectLeaves().headOption).flatMap(tables.id).toSeq

  private def read(i: PlanInput): Seq[Int] = i match {
    case PlanInput.Operator(n) => below(n.id)
    case PlanInput.Fragment(f) => graph.fragments(f).nodes.headOption.fold(Seq.empty[Int])(n => below(n.id))
  }

  /** The ids of the tables that an input reads. */
  def tablesOf(i: PlanInput): Seq[Long] = read(i).map(_.toLong)

  /** Columns that only have another name than the one that they are read from. */
  private val renamed: Map[ExprId, ExprId] = graph.nodes
    .flatMap(_.plan.expressions)
    .flatMap(_.collect {
      case a @ Alias(from: Attribute, _) if a.exprId != from.exprId => a.exprId -> from.exprId
    })
    .toMap

  def of(key: Expression): KeyColumnEntry = {
    val origins = key.references.toSeq.map(a => origin(a.exprId))
    val table = origins.map(_.map(_._1)).distinct match {
      case Seq(one) => one
      case _ => None
    }
    val column = key match {
      case _: Attribute => origins.headOption.flatten.map(_._2)
      case _ => None
    }
    KeyColumnEntry(table.map(_.toLong), column)
  }

  private def origin(id: ExprId): Option[(Int, String)] =
    Iterator
      .iterate(Option(id))(_.flatMap(renamed.get))
      .take(KeyOrigins.mostNames)
      .takeWhile(_.isDefined)
      .flatMap(_.flatMap(tables.column))
      .nextOption()
}

private object KeyOrigins {

  /** The most names that a column has on its way through a plan. */
  private val mostNames = 100
}

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

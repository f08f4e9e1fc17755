package org.apache.spark.sql.springbok.report

import org.apache.spark.internal.config.CPUS_PER_TASK
import org.apache.spark.sql.catalyst.plans.logical.{CommandResult, LogicalPlan}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{CommandResultExec, QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.cost.Cluster
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{Decisions, PlanningState}
import org.apache.spark.sql.springbok.report.model._
import org.apache.spark.sql.springbok.stats.operator.PlanStats
import org.apache.spark.util.Utils

/** The parts of a query's report. Each is made when it is first asked for: `EXPLAIN` shows only some of them. */
final private[springbok] class ReportParts(
    val session: SparkSession,
    analyzed: => LogicalPlan,
    optimized: LogicalPlan,
    plan: SparkPlan
) {
  val state: Option[PlanningState] = ReportParts.stateOf(optimized)
  private lazy val graph = new PlanGraph(plan)
  private lazy val read = new TablesRead(optimized)

  private lazy val numbers =
    new PlanNumbers(graph, ReportParts.executed(plan, graph), state.fold(new PlanStats.Lasting)(_.lasting))

  private lazy val joinReport =
    new JoinReport(
      state,
      graph,
      ReportParts.initial(plan).filter(_ => numbers.ran),
      numbers,
      new KeyOrigins(graph, read)
    )

  def ran: Boolean = numbers.ran
  lazy val joins: Seq[JoinEntry] = joinReport.entries

  /** The joins as EXPLAIN shows them: without rows, sides and alternatives. */
  def briefJoins: Seq[JoinEntry] = joinReport.brief
  lazy val filters: Seq[FilterEntry] =
    new FilterReport(state.toSeq.flatMap(_.filters.all), graph, numbers, read).entries
  private lazy val tableReport = new TableReport(optimized, read, graph, numbers, session)
  lazy val tables: Seq[TableEntry] = tableReport.entries

  /** The tables of which something is not known that a join asks for. */
  def incompleteTables: Seq[TableEntry] = tableReport.incomplete
  lazy val saved: Option[SavedEntry] = new SavingsReport(graph, numbers).entry
  lazy val fragments: Seq[FragmentEntry] = new FragmentReport(graph, numbers).entries

  lazy val resources: Resources = {
    val (context, conf) = (session.sparkContext, session.sessionState.conf)
    val c = Cluster.of(context, conf)
    Resources(
      executors = c.executors,
      coresPerExecutor = c.coresPerExecutor,
      executorHeapBytes = c.executorHeap,
      driverHeapBytes = c.driverHeap,
      shufflePartitions = c.shufflePartitions,
      joinMemoryPerExecutorBytes = joinReport.memoryPerExecutor,
      hosts = Cluster.hosts(context, conf).map(_.toLong),
      // Spark 4.3 takes fractions of a core.
      tasksPerExecutor = (c.coresPerExecutor / context.conf.getDouble(CPUS_PER_TASK.key, 1)).toInt,
      executionMemoryBytes = Cluster.unifiedMemory(c.executorHeap, context.conf)
    )
  }

  /** Why the whole query is left to Spark. */
  def leftToSpark: Option[Reason] = state.flatMap(_.leftToSpark)

  private def decisions: Seq[Decisions] = state.map(_.decisions).toSeq

  def joinOrder: Seq[JoinOrderEntry] = decisions.flatMap(_.orders).map { o =>
    JoinOrderEntry(o.relations, o.before, o.after, o.best, o.costBefore, o.costAfter, ReasonEntry(o.reason))
  }

  def eagerAggregation: Seq[EagerAggregationEntry] = decisions.flatMap(_.aggregates).map { a =>
    EagerAggregationEntry(a.groups, a.below, a.rows, a.retained, ReasonEntry(a.reason))
  }

  def conjuncts: Seq[ConjunctsEntry] = decisions.flatMap(_.conjuncts).map { c =>
    ConjunctsEntry(
      c.operator,
      c.changed,
      c.before,
      c.after,
      c.order.map(e => ConjunctEntry(e.condition, e.cost, e.selectivity, e.mayRaise))
    )
  }

  /** Where the statement writes, and how a MERGE's target is pruned. */
  def sink: Option[SinkEntry] =
    output.sink.map(_.copy(pruning = decisions.flatMap(_.merges).headOption.map(m => ReasonEntry(m.reason))))

  def failures: Seq[FailureEntry] =
    decisions.flatMap(_.failures).map(f => FailureEntry(f.rule, f.error))

  /** What the statement gives or writes. */
  lazy val output: OutputReport = new OutputReport(analyzed)

  /** How many joins the plan has of each strategy, whoever decided them. */
  def strategies: Map[String, Long] = JoinReport.strategies(graph)
}

private[springbok] object ReportParts {

  /** Of a physical plan alone; None if its logical plan is not known. */
  def of(plan: SparkPlan): Option[ReportParts] =
    logical(plan).flatMap(l => Option(plan.session).map(s => new ReportParts(s, analyzed(plan, l), l, plan)))

  /** Of a query as a whole. */
  def of(qe: QueryExecution): ReportParts =
    new ReportParts(qe.sparkSession, qe.analyzed, optimized(qe), qe.executedPlan)

  private def analyzed(plan: SparkPlan, optimized: LogicalPlan): LogicalPlan =
    adaptive(plan).fold(optimized)(_.context.qe.analyzed)

  /** The plan that the physical one was made from: for a command that has run, not the one of its result. */
  private def optimized(qe: QueryExecution): LogicalPlan = qe.optimizedPlan match {
    case r: CommandResult => logical(qe.executedPlan).getOrElse(r)
    case plan => plan
  }

  def stateOf(plan: LogicalPlan): Option[PlanningState] =
    plan.collectWithSubqueries { case p => p }.iterator.flatMap(PlanningState.on).nextOption()

  /** The adaptive execution of a plan. */
  def adaptive(plan: SparkPlan): Option[AdaptiveSparkPlanExec] = below(plan).collectFirst {
    case a: AdaptiveSparkPlanExec => a
  }

  private def below(plan: SparkPlan): SparkPlan = plan match {
    case c: CommandResultExec => c.commandPhysicalPlan
    case other => other
  }

  /** The optimized plan that a physical plan was made from, as far as it is linked to one. */
  private def logical(plan: SparkPlan): Option[LogicalPlan] =
    adaptive(plan)
      .map(_.context.qe.optimizedPlan)
      .orElse(below(plan).collectFirst(Function.unlift((p: SparkPlan) => p.logicalLink)))

  /** The plan that adaptive execution started with. */
  private def initial(plan: SparkPlan): Option[PlanGraph] =
    adaptive(plan).map(a => new PlanGraph(a.initialPlan))

  private def executed(plan: SparkPlan, graph: PlanGraph): Boolean =
    adaptive(plan)
      .map(_.isFinalPlan)
      .getOrElse(graph.nodes.exists(n => PlanNumbers.metric(n.plan, "numOutputRows").exists(_ > 0)))
}

/** What all parts of the report do with numbers and texts. */
private[springbok] object Shown {

  /** A number that JSON can write. */
  def finite(d: Option[Double]): Option[Double] = d.filter(x => !x.isNaN && !x.isInfinite)

  /**
   * How far an estimate is off, as a factor of 1 or more in either direction (Moerkotte et al., "Preventing bad plans by
   * bounding the impact of cardinality estimation errors", 2009). Less than one row counts as one.
   */
  def qError(estimated: Option[Double], observed: Option[Long]): Option[Double] =
    for (e <- finite(estimated); o <- observed) yield {
      val (a, b) = (math.max(1.0, e), math.max(1.0, o.toDouble))
      math.max(a / b, b / a)
    }

  /** A text without numbers of expressions such as `#12L`, which mean nothing to a reader. */
  def plain(text: String, most: Int = 160): String = {
    // What is cut first may no longer match the pattern of what is secret.
    val t = Utils.redact(SQLConf.get.stringRedactionPattern, text).replaceAll("#\\d+L?", "")
    if (t.length <= most) t else t.take(most - 1) + "…"
  }
}

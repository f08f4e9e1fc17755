package org.apache.spark.sql.springbok.report

import scala.collection.immutable.ListMap

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.RunningSpark
import org.apache.spark.sql.springbok.conf.{Settings, SpringbokConf}
import org.apache.spark.sql.springbok.cost.{Cluster, Strategy}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{DecisionLog, LoggedConjuncts, LoggedOrder, PlanningState}
import org.apache.spark.sql.springbok.report.model._
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/**
 * The strategy report of a query as one JSON document (`docs/report.schema.json`); Python's `springbok.report` parses it.
 * Modelled on Impala's `TQueryExecRequest`.
 *
 * It never runs the query. Decisions come from the log that the query's plan carries. Observed numbers come from the
 * metrics of the plan, if this very execution has run.
 */
object SpringbokReport {

  /** Of a DataFrame's own `queryExecution`. */
  def json(qe: QueryExecution): String = qe.sparkSession.withActive(ReportJson.write(of(qe)))

  def of(qe: QueryExecution): QueryReport = {
    val conf = qe.sparkSession.sessionState.conf
    val state = stateOf(qe.optimizedPlan)
    val plan = qe.executedPlan
    val graph = new PlanGraph(plan)
    val lasting = state.fold(new PlanStats.Lasting)(_.lasting)
    val numbers = new PlanNumbers(graph, executed(plan, graph), lasting)
    val log = state.fold(new DecisionLog)(_.log)
    val joins = new JoinReport(log, graph, initial(plan).filter(_ => numbers.ran), numbers)
    QueryReport(
      version = QueryReport.formatVersion,
      springbok = RunningSpark.VERSION,
      spark = SPARK_VERSION,
      state = if (numbers.ran) "executed" else "planned",
      note = note(conf, state, plan),
      resources = resources(Cluster.of(qe.sparkSession.sparkContext, conf), joins.memoryPerExecutor),
      tables = new TableReport(qe.optimizedPlan, graph, numbers).entries,
      fragments = new FragmentReport(graph, numbers).entries,
      joins = joins.entries,
      filters = new FilterReport(log, graph, numbers).entries,
      joinOrder = log.orders.map(joinOrder),
      conjuncts = log.conjuncts.map(conjuncts),
      failures = log.failures.map { case (rule, error) => FailureEntry(rule, error) },
      settings = settings(conf),
      strategies = strategies(graph),
      execution = None
    )
  }

  private[springbok] def stateOf(plan: LogicalPlan): Option[PlanningState] =
    plan.collectWithSubqueries { case p => p }.iterator.flatMap(PlanningState.of).nextOption()

  /** The plan that adaptive execution started with. */
  private def initial(plan: SparkPlan): Option[PlanGraph] = plan.collectFirst {
    case a: AdaptiveSparkPlanExec =>
      new PlanGraph(a.initialPlan)
  }

  private def executed(plan: SparkPlan, graph: PlanGraph): Boolean =
    plan
      .collectFirst { case a: AdaptiveSparkPlanExec => a.isFinalPlan }
      .getOrElse(
        graph.nodes.exists(n => PlanNumbers.metric(n.plan, "numOutputRows").exists(_ > 0))
      )

  /** Why Springbok had nothing to decide, or decided less than it could. */
  private def note(conf: SQLConf, state: Option[PlanningState], plan: SparkPlan): Option[String] =
    if (!conf.getConf(SpringbokConf.ENABLED))
      Some(s"${SpringbokConf.ENABLED.key} is false: Spark planned alone.")
    else if (state.isEmpty) Some("No join was planned by Springbok.")
    else if (!plan.exists(_.isInstanceOf[AdaptiveSparkPlanExec]))
      Some(s"Few runtime filters: ${Reason.adaptiveOff.text}.")
    else None

  private def resources(c: Cluster, joinMemory: Option[Double]): Resources =
    Resources(
      executors = c.executors,
      coresPerExecutor = c.coresPerExecutor,
      executorHeapBytes = c.executorHeap,
      driverHeapBytes = c.driverHeap,
      shufflePartitions = c.shufflePartitions,
      joinMemoryPerExecutorBytes = joinMemory
    )

  /** How many joins the plan has of each strategy, whoever decided them. */
  private def strategies(graph: PlanGraph): Map[String, Int] = {
    val all = graph.nodes.map(_.plan).collect { case j: BaseJoinExec => Strategy.of(j).name }
    ListMap.from(all.groupBy(identity).view.mapValues(_.size).toSeq.sortBy(_._1))
  }

  private def joinOrder(o: LoggedOrder): JoinOrderEntry =
    JoinOrderEntry(o.relations, o.before, o.after, o.costBefore, o.costAfter, ReasonEntry(o.reason))

  private def conjuncts(c: LoggedConjuncts): ConjunctsEntry =
    ConjunctsEntry(
      c.operator,
      c.changed,
      c.before,
      c.after,
      c.order.map(e => ConjunctEntry(e.condition, e.cost, e.selectivity, e.mayRaise))
    )

  private def settings(conf: SQLConf): Map[String, String] = ListMap.from(
    Settings.entries
      .filter(e => conf.contains(e.key) && conf.getConfString(e.key) != e.defaultValueString)
      .map(e => e.key -> conf.getConfString(e.key))
  )
}

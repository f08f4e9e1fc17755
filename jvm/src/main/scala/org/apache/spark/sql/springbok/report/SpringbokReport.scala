package org.apache.spark.sql.springbok.report

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.SparkLine
import org.apache.spark.sql.springbok.conf.{Settings, SpringbokConf}
import org.apache.spark.sql.springbok.cost.Cluster
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{LoggedConjuncts, LoggedOrder, PlanningState}
import org.apache.spark.sql.springbok.rules.joins.ReviseJoinStrategy
import org.apache.spark.sql.springbok.stats.operator.PlanStats
import org.json4s.{JNull, JObject, JString, JValue}
import org.json4s.JsonDSL._
import org.json4s.jackson.JsonMethods.{compact, render}

/**
 * The strategy report of a query as one JSON document (`docs/report.schema.json`); Python's `springbok.report` parses it.
 * Modelled on Impala's `TQueryExecRequest`.
 *
 * It never runs the query. Decisions come from the record that the query's plan carries; what was observed from the
 * metrics of the plan that ran, if this very execution has run.
 */
object SpringbokReport {
  val formatVersion = 2

  /** Of a DataFrame's own `queryExecution`. */
  def json(qe: QueryExecution): String = qe.sparkSession.withActive(compact(render(of(qe))))

  /** Whether the extension is in this session; called from Python. */
  def isActive(session: SparkSession): Boolean =
    session.sessionState.adaptiveRulesHolder.runtimeOptimizerRules.contains(ReviseJoinStrategy)

  def of(qe: QueryExecution): JObject = {
    val conf = qe.sparkSession.sessionState.conf
    val optimized = qe.optimizedPlan
    val record = recordOf(optimized)
    val log = record.map(_.log)
    val plan = qe.executedPlan
    val graph = new PlanGraph(plan)
    val lasting = record.fold(new PlanStats.Lasting)(_.lasting)
    val numbers = new PlanNumbers(graph, executed(plan, graph), lasting)
    val first = plan.collectFirst {
      case a: AdaptiveSparkPlanExec if numbers.ran => new PlanGraph(a.initialPlan)
    }
    val joins = new JoinReport(log, graph, first, numbers)
    ("version" -> formatVersion) ~
      ("springbok" -> SparkLine.version) ~
      ("spark" -> SPARK_VERSION) ~
      ("state" -> (if (numbers.ran) "executed" else "planned")) ~
      ("note" -> note(conf, record, plan)) ~
      ("resources" -> resources(Cluster.of(qe.sparkSession.sparkContext, conf), joins)) ~
      ("tables" -> new TableReport(optimized, graph, numbers).json) ~
      ("fragments" -> new FragmentReport(graph, numbers).json) ~
      ("joins" -> joins.json) ~
      ("filters" -> log.toSeq.flatMap(new FilterReport(_, graph, numbers).json)) ~
      ("join_order" -> log.toSeq.flatMap(_.orders).map(joinOrder)) ~
      ("conjuncts" -> log.toSeq.flatMap(_.conjuncts).map(conjuncts)) ~
      ("failures" -> log.toSeq.flatMap(_.failures).map { case (rule, error) =>
        ("rule" -> rule) ~ ("error" -> error)
      }) ~
      ("settings" -> settings(conf)) ~
      ("strategies" -> strategies(graph))
  }

  private[springbok] def recordOf(plan: LogicalPlan): Option[PlanningState] =
    plan.collectWithSubqueries { case p => p }.iterator.flatMap(PlanningState.of).nextOption()

  private def executed(plan: SparkPlan, graph: PlanGraph): Boolean =
    plan
      .collectFirst { case a: AdaptiveSparkPlanExec => a.isFinalPlan }
      .getOrElse(
        graph.nodes.exists(n => PlanNumbers.metric(n.plan, "numOutputRows").exists(_ > 0))
      )

  /** Why Springbok had nothing to decide, or decided less than it could. */
  private def note(conf: SQLConf, record: Option[PlanningState], plan: SparkPlan): JValue =
    if (!conf.getConf(SpringbokConf.ENABLED))
      JString(s"${SpringbokConf.ENABLED.key} is false: Spark planned alone.")
    else if (record.isEmpty) JString("No join was planned by Springbok.")
    else if (!plan.exists(_.isInstanceOf[AdaptiveSparkPlanExec]))
      JString(s"Few runtime filters: ${Reason.adaptiveOff.text}.")
    else JNull

  /** What the plan was made for, and what it asks for. */
  private def resources(c: Cluster, joins: JoinReport): JObject =
    ("executors" -> c.executors) ~
      ("cores_per_executor" -> c.coresPerExecutor) ~
      ("executor_heap_bytes" -> c.executorHeap) ~
      ("driver_heap_bytes" -> c.driverHeap) ~
      ("shuffle_partitions" -> c.shufflePartitions) ~
      ("join_memory_per_executor_bytes" -> joins.memoryPerExecutor)

  /** How many joins the plan has of each strategy, decided by whomever. */
  private def strategies(graph: PlanGraph): JObject = JObject(
    graph.nodes
      .map(_.plan)
      .collect { case j: BaseJoinExec => JoinReport.strategy(j) }
      .groupBy(identity)
      .map { case (s, js) => s -> (js.size: JValue) }
      .toList
      .sortBy(_._1)
  )

  private def joinOrder(o: LoggedOrder): JObject =
    ("relations" -> o.relations) ~
      ("before" -> o.before) ~
      ("after" -> o.after) ~
      ("cost_before_ms" -> o.costBefore) ~
      ("cost_after_ms" -> o.costAfter) ~
      ("reason" -> ReportJson.reason(o.reason))

  private def conjuncts(c: LoggedConjuncts): JObject =
    ("operator" -> c.operator) ~
      ("changed" -> c.changed) ~
      ("cost_before" -> c.before) ~
      ("cost_after" -> c.after) ~
      ("order" -> c.order.map { e =>
        ("condition" -> e.condition) ~
          ("cost" -> e.cost) ~
          ("selectivity" -> e.selectivity) ~
          ("may_raise" -> e.mayRaise)
      })

  private def settings(conf: SQLConf): JObject = JObject(
    Settings.entries
      .filter(e => conf.contains(e.key) && conf.getConfString(e.key) != e.defaultValueString)
      .map(e => e.key -> (JString(conf.getConfString(e.key)): JValue))
      .toList
  )
}

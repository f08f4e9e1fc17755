package org.apache.spark.sql.springbok.report

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{FileSourceScanExec, QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, AdaptiveSparkPlanHelper}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.springbok.AppliedRuntimeFilterExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.{SparkLine, SpringbokConf}
import org.apache.spark.sql.springbok.cost.{Alternative, JoinCost, Strategy}
import org.apache.spark.sql.springbok.join.ReviseJoinStrategy
import org.apache.spark.sql.springbok.stats.PlanStats
import org.json4s.{JNothing, JNull, JObject, JString, JValue}
import org.json4s.JsonDSL._
import org.json4s.jackson.JsonMethods.{compact, render}

/**
 * The strategy report of a query as one JSON document, version 1; Python's `springbok.report` parses it.
 *
 * It never runs the query. Decisions come from the record that the query's plan carries; what was observed from the
 * metrics of the plan that ran, if this very execution has run.
 */
object SpringbokReport extends AdaptiveSparkPlanHelper {
  val formatVersion = 1

  /** Called from Python with a DataFrame's own `queryExecution`. */
  def json(qe: QueryExecution): String = qe.sparkSession.withActive(compact(render(of(qe))))

  /** Whether the extension is in this session; called from Python. */
  def isActive(session: SparkSession): Boolean =
    session.sessionState.adaptiveRulesHolder.runtimeOptimizerRules.contains(ReviseJoinStrategy)

  def of(qe: QueryExecution): JObject = {
    val conf = qe.sparkSession.sessionState.conf
    val optimized = qe.optimizedPlan
    val record = recordOf(optimized)
    val plan = qe.executedPlan
    val ran = executed(plan)
    ("version" -> formatVersion) ~
      ("springbok" -> SparkLine.version) ~
      ("spark" -> SPARK_VERSION) ~
      ("state" -> (if (ran) "executed" else "planned")) ~
      ("note" -> note(conf, record, plan)) ~
      ("tables" -> tables(optimized)) ~
      ("joins" -> record.toSeq.flatMap(r => joins(r, plan, ran))) ~
      ("filters" -> record.toSeq.flatMap(r => filters(r, plan, ran))) ~
      ("join_order" -> record.toSeq.flatMap(_.orders).map(joinOrder)) ~
      ("conjuncts" -> record.toSeq.flatMap(_.conjuncts).map(conjuncts)) ~
      ("failures" -> record.toSeq.flatMap(_.failures).map { case (rule, error) =>
        ("rule" -> rule) ~ ("error" -> error)
      }) ~
      ("settings" -> settings(conf)) ~
      ("strategies" -> strategies(plan))
  }

  private def recordOf(plan: LogicalPlan): Option[QueryRecord] =
    plan.collectWithSubqueries { case p => p }.iterator.flatMap(QueryRecord.of).nextOption()

  private def executed(plan: SparkPlan): Boolean = plan match {
    case a: AdaptiveSparkPlanExec => a.isFinalPlan
    case other => other.exists(_.metrics.get("numOutputRows").exists(_.value > 0))
  }

  /** Why Springbok had nothing to decide, or decided less than it could. */
  private def note(conf: SQLConf, record: Option[QueryRecord], plan: SparkPlan): JValue =
    if (!conf.getConf(SpringbokConf.ENABLED))
      JString(s"${SpringbokConf.ENABLED.key} is false: Spark planned alone.")
    else if (record.isEmpty) JString("The query has no join: Spark planned alone.")
    else if (!plan.exists(_.isInstanceOf[AdaptiveSparkPlanExec]))
      JString(s"No runtime filters: ${Reason.adaptiveOff.text}.")
    else JNull

  private def tables(plan: LogicalPlan): Seq[JObject] = {
    val stats = new PlanStats
    plan
      .collectWithSubqueries { case r @ LogicalRelation(fs: HadoopFsRelation, _, _, _, _) => (r, fs) }
      .map { case (r, fs) =>
        val rows = stats(r).rows
        val name = TableName(r.catalogTable.map(_.identifier), fs)
        ("name" -> name) ~
          ("format" -> fs.fileFormat.toString) ~
          ("files" -> stats.footers(fs).map(_.files)) ~
          ("bytes" -> fs.sizeInBytes) ~
          ("rows" -> rows.map(_.value)) ~
          ("rows_source" -> rows.fold("unknown")(_.source.name)) ~
          ("columns" -> r.output.map(_.name))
      }
      .distinctBy(t => compact(render(t)))
  }

  private def joins(record: QueryRecord, plan: SparkPlan, ran: Boolean): Seq[JObject] = {
    val physical = collectWithSubqueries(plan) { case j: BaseJoinExec => j }
      .flatMap(j => j.logicalLink.flatMap(_.getTagValue(QueryRecord.tag)).map(_.id -> j))
      .toMap
    record.joins.map { j =>
      val decision = if (ran) j.latest else j.planned
      val done = physical.get(j.id)
      ("id" -> j.id) ~
        ("type" -> j.joinType) ~
        ("left_keys" -> j.leftKeys) ~
        ("right_keys" -> j.rightKeys) ~
        ("other_conjuncts" -> j.other) ~
        ("hint" -> Option.when(!j.userHint.isEmpty)(j.userHint.toString)) ~
        ("planned" -> j.planned.map(d => name(d.choice.chosen))) ~
        ("strategy" -> done.map(strategy)) ~
        ("build" -> done.flatMap(built)) ~
        ("revised" -> (ran && j.latest.map(_.choice.chosen) != j.planned.map(_.choice.chosen))) ~
        ("reason" -> decision.map(d => reason(d.choice.reason))) ~
        ("distribution" -> decision.flatMap(_.choice.distribution).map(_.name)) ~
        ("notes" -> decision.toSeq.flatMap(_.notes).map(reason)) ~
        ("alternatives" -> decision.toSeq.flatMap(_.choice.alternatives).map(alternative)) ~
        ("left" -> decision.flatMap(d => d.input.map(i => side(i.left, d.leftSource)))) ~
        ("right" -> decision.flatMap(d => d.input.map(i => side(i.right, d.rightSource)))) ~
        ("output_rows" -> done.filter(_ => ran).flatMap(_.metrics.get("numOutputRows")).map(_.value))
    }
  }

  /** How many joins the plan has of each strategy, decided by whomever. */
  private def strategies(plan: SparkPlan): JObject = JObject(
    collectWithSubqueries(plan) { case j: BaseJoinExec => strategy(j) }
      .groupBy(identity)
      .map { case (s, js) => s -> (js.size: JValue) }
      .toList
  )

  private def joinOrder(o: JoinOrderRecord): JObject =
    ("relations" -> o.relations) ~
      ("before" -> o.before) ~
      ("after" -> o.after) ~
      ("cost_before_ms" -> o.costBefore) ~
      ("cost_after_ms" -> o.costAfter) ~
      ("reason" -> reason(o.reason))

  private def conjuncts(c: ConjunctRecord): JObject =
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

  private def name(s: Strategy): String =
    s.name + Strategy.build(s).fold("")(b => s", build ${Reason.side(b)}")

  private def strategy(j: BaseJoinExec): String = j match {
    case _: BroadcastHashJoinExec => "broadcast hash"
    case _: ShuffledHashJoinExec => "shuffled hash"
    case _: SortMergeJoinExec => "sort-merge"
    case _: BroadcastNestedLoopJoinExec => "broadcast nested loop"
    case _ => "cartesian"
  }

  private def built(j: BaseJoinExec): Option[String] = j match {
    case h: HashJoin => Some(Reason.side(h.buildSide))
    case n: BroadcastNestedLoopJoinExec => Some(Reason.side(n.buildSide))
    case _ => None
  }

  private def side(s: JoinCost.Side, source: Option[String]): JObject =
    ("rows" -> s.rows) ~
      ("rows_source" -> source.getOrElse("unknown")) ~
      ("row_bytes" -> s.rowBytes) ~
      ("bound_bytes" -> s.boundBytes) ~
      ("partitioned" -> s.partitioned)

  private def alternative(a: Alternative): JObject =
    ("strategy" -> name(a.strategy)) ~
      ("cost_bytes" -> Option(a.cost).filter(_ >= 0)) ~
      ("ruled_out" -> a.ruledOut.map(reason))

  private def reason(r: Reason): JObject =
    ("code" -> r.code) ~
      ("text" -> r.text) ~
      ("setting" -> r.setting) ~
      ("args" -> JObject(r.args.map { case (k, v) => k -> value(v) }.toList))

  private def value(v: Any): JValue = v match {
    case s: String => JString(s)
    case d: Double => if (d.isNaN || d.isInfinite) JNull else d
    case l: Long => l
    case i: Int => i
    case s: Seq[?] => s.map(_.toString)
    case _ => JNothing
  }

  private def filters(record: QueryRecord, plan: SparkPlan, ran: Boolean): Seq[JObject] = {
    val applied = collectWithSubqueries(plan) { case f: AppliedRuntimeFilterExec if f.info != null => f }
      .groupBy(_.info.record)
    // Placed ones first, in the order of their ids.
    record.filters.sortBy(_.number.getOrElse(Int.MaxValue)).map { f =>
      val nodes = applied.getOrElse(f, Nil).distinctBy(System.identityHashCode)
      val tested = nodes.filter(_.predicate.isDefined)
      val in = tested.map(n => rowsOf(n.child)).sum
      val out = tested.map(_.metrics("numOutputRows").value).sum
      val scan = nodes.flatMap(_.collectFirst { case s: FileSourceScanExec => s }).headOption
      // A filter whose scan never came to be resolved did nothing.
      val status = if (ran && f.status == "placed") "unused" else f.status
      ("id" -> f.number.map(_ => f.id)) ~
        ("join" -> f.join) ~
        ("source" -> f.sourceKey) ~
        ("target_table" -> f.targetTable) ~
        ("target_column" -> f.targetColumn) ~
        ("status" -> status) ~
        ("reason" -> reason(f.outcome)) ~
        ("kinds" -> f.kinds) ~
        ("expected_kept" -> f.expectedKept) ~
        ("build_rows" -> f.buildRows) ~
        ("build_keys" -> f.buildKeys) ~
        ("bytes" -> f.bytes) ~
        ("false_positive_rate" -> f.falsePositiveRate) ~
        ("rows_in" -> Option.when(ran && tested.nonEmpty)(in)) ~
        ("rows_removed" -> Option.when(ran && tested.nonEmpty)(in - out)) ~
        ("row_groups" -> f.rowGroups.map(_._2)) ~
        ("row_groups_removed" -> f.rowGroups.map(_._1)) ~
        ("scan_rows" -> Option.when(ran)(scan.map(rowsOf)).flatten) ~
        ("files" -> Option.when(ran)(scan.flatMap(_.metrics.get("numFiles")).map(_.value)).flatten) ~
        ("pauses" -> Option.when(ran && tested.nonEmpty)(tested.map(_.metrics("numPauses").value).sum))
    }
  }

  /** Rows that came out of an operator, or of the first one below it that counts them. */
  private def rowsOf(p: SparkPlan): Long = p match {
    case f: AppliedRuntimeFilterExec if f.predicate.isEmpty => rowsOf(f.child)
    case _ =>
      p.metrics
        .get("numOutputRows")
        .map(_.value)
        .orElse(p.children.headOption.map(rowsOf))
        .getOrElse(0L)
  }

  private def settings(conf: SQLConf): JObject = JObject(
    SpringbokConf.all
      .filter(e => conf.contains(e.key) && conf.getConfString(e.key) != e.defaultValueString)
      .map(e => e.key -> (JString(conf.getConfString(e.key)): JValue))
      .toList
  )
}

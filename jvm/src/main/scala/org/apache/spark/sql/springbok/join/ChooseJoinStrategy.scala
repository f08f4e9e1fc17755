package org.apache.spark.sql.springbok.join

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildSide, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.{FullOuter, LeftOuter, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.{Guarded, SpringbokConf}
import org.apache.spark.sql.springbok.cost._
import org.apache.spark.sql.springbok.filter.KeyTrace
import org.apache.spark.sql.springbok.report._
import org.apache.spark.sql.springbok.stats.{Estimate, PlanStats}

/**
 * Chooses how each equi-join is executed, by Impala's costs, and says so in a hint that Spark's planner follows.
 *
 * {{{
 *   Join Inner, (l_orderkey = o_orderkey)        Join Inner, (...), rightHint=(strategy=broadcast)
 *   :- lineitem                              =>  :- lineitem
 *   +- orders, filtered                          +- orders, filtered
 * }}}
 *
 * It runs twice. Late in the optimizer, after join reorder and dynamic partition pruning, on estimates; and in adaptive
 * execution after each stage ([[ReviseJoinStrategy]]), on what the finished stages really hold.
 *
 * '''When it leaves a join alone''': the query gave a hint; it has no equality between its sides; its build side prunes
 * partitions; a side is bucketed; statistics are missing (`spark.springbok.join.defaultMode`).
 *
 * '''Why the answer cannot change''': only the hint of a `Join` is set, never its inputs, type or condition, and every
 * strategy that Spark plans for a join computes the same join.
 *
 * '''Settings''': `spark.springbok.join.*`, `spark.springbok.stats.*`, `spark.springbok.cluster.*`.
 */
object ChooseJoinStrategy extends Rule[LogicalPlan] {
  def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case _ if !conf.getConf(SpringbokConf.ENABLED) || plan.isStreaming => plan
    // A correlated subquery is planned again as part of its outer query.
    case s: Subquery if s.correlated => plan
    case _ if !plan.exists(_.isInstanceOf[Join]) => plan
    case _ =>
      val record = QueryRecord.ofQuery(plan)
      Guarded("ChooseJoinStrategy", JoinChooser.undecided(plan, record), Some(record)) {
        val chooser = new JoinChooser(plan)
        plan.transformUp {
          case j: Join if j.getTagValue(QueryRecord.tag).isEmpty => chooser.first(j, record)
        }
      }
  }
}

/** The same choice after a query stage has finished; only joins that the first choice saw. */
object ReviseJoinStrategy extends Rule[LogicalPlan] {
  def apply(plan: LogicalPlan): LogicalPlan =
    if (!conf.getConf(SpringbokConf.ENABLED) || !plan.exists(_.isInstanceOf[Join])) plan
    else
      Guarded("ReviseJoinStrategy", plan, QueryRecord.of(plan)) {
        val chooser = new JoinChooser(plan)
        plan.transformUp {
          case j: Join if j.getTagValue(QueryRecord.tag).isDefined =>
            chooser.again(j, j.getTagValue(QueryRecord.tag).get)
        }
      }
}

private object JoinChooser {

  /** The plan as it is, with its joins on record: what went wrong has to show in the report. */
  def undecided(plan: LogicalPlan, query: QueryRecord): LogicalPlan = {
    plan.foreach {
      case j: Join if j.getTagValue(QueryRecord.tag).isEmpty =>
        val r = record(j, query)
        r.planned = Some(JoinDecision(JoinChoice(Strategy.Spark, Reason.failed, Nil), None, None, None))
        r.latest = r.planned
        j.setTagValue(QueryRecord.tag, r)
      case _ =>
    }
    plan
  }

  def record(j: Join, query: QueryRecord): JoinRecord = query.addJoin { (q, id) =>
    val (left, right, other) = ExtractEquiJoinKeys.unapply(j) match {
      case Some((_, l, r, o, _, _, _, _)) =>
        (l.map(KeyTrace.label), r.map(KeyTrace.label), o.map(KeyTrace.label))
      case None => (Nil, Nil, j.condition.map(KeyTrace.label))
    }
    new JoinRecord(q, id, j.joinType.sql, left, right, other, j.hint)
  }
}

/** Takes one planning's decisions; shares what it has learned of the plan between them. */
final private class JoinChooser(plan: LogicalPlan) extends JoinSelectionHelper with PredicateHelper {
  private val conf = SQLConf.get
  private val stats = new PlanStats
  private lazy val cluster = Cluster.of(SparkSession.active.sparkContext, conf)
  private lazy val limits = {
    val fraction =
      SparkSession.active.sparkContext.getConf.get(org.apache.spark.internal.config.MEMORY_FRACTION)
    JoinLimits(
      conf.getConf(SpringbokConf.BROADCAST_BYTES_LIMIT),
      conf.getConf(SpringbokConf.BROADCAST_MEMORY_FRACTION),
      cluster.memoryPerTask(fraction) * conf.getConf(SpringbokConf.SHUFFLED_HASH_MEMORY_FRACTION),
      conf.getConf(SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES)
    )
  }
  private lazy val pruningKeys: Seq[Expression] =
    plan.flatMap(_.expressions.flatMap(_.collect { case d: DynamicPruningSubquery => d.buildKeys })).flatten

  def first(j: Join, query: QueryRecord): LogicalPlan = {
    val record = JoinChooser.record(j, query)
    val decision = decide(j, record)
    record.planned = Some(decision)
    record.latest = Some(decision)
    hinted(j, record, decision.choice.chosen)
  }

  def again(j: Join, record: JoinRecord): LogicalPlan = {
    val decision = decide(j, record)
    if (decision.choice.reason != Reason.broadcastStarted) record.latest = Some(decision)
    hinted(j, record, decision.choice.chosen)
  }

  private def hinted(j: Join, record: JoinRecord, chosen: Strategy): Join = {
    def on(side: BuildSide, s: JoinStrategyHint): JoinHint =
      if (side == BuildLeft) JoinHint(Some(HintInfo(Some(s))), None)
      else JoinHint(None, Some(HintInfo(Some(s))))
    val hint = chosen match {
      case Strategy.Broadcast(side) => on(side, BROADCAST)
      case Strategy.ShuffledHash(side) => on(side, SHUFFLE_HASH)
      case Strategy.SortMerge => JoinHint(Some(HintInfo(Some(SHUFFLE_MERGE))), None)
      case Strategy.Spark => if (record.hinted) record.userHint else j.hint
    }
    record.hinted = chosen != Strategy.Spark
    val out = if (hint == j.hint) j else j.copy(hint = hint)
    out.setTagValue(QueryRecord.tag, record)
    out
  }

  private def decide(j: Join, record: JoinRecord): JoinDecision = {
    def left(reason: Reason) = JoinDecision(JoinChoice(Strategy.Spark, reason, Nil), None, None, None)
    val hints = Seq(record.userHint.leftHint, record.userHint.rightHint).flatten.flatMap(_.strategy)
    j match {
      case _ if !conf.getConf(SpringbokConf.JOIN_ENABLED) => left(Reason.joinDisabled)
      case _ if hints.nonEmpty => left(Reason.hint(hints.mkString(", ")))
      case _ if Seq(j.left, j.right).exists(broadcastStage) => left(Reason.broadcastStarted)
      case ExtractEquiJoinKeys(joinType, lk, rk, _, _, l, r, _) =>
        val forced = conf.getConf(SpringbokConf.FORCED)
        if (forced.isEmpty && (lk ++ rk).exists(k => pruningKeys.exists(_.semanticEquals(k))))
          left(Reason.feedsPruning)
        else if (forced.isEmpty && Seq(l, r).exists(bucketed)) left(Reason.bucketed)
        else {
          val hashable = (lk ++ rk).forall(k => UnsafeRowUtils.isBinaryStable(k.dataType))
          val (ls, rs) = (stats(l), stats(r))
          val input = JoinInput(
            side(l, lk, ls),
            side(r, rk, rs),
            broadcastLeft = hashable && canBuildBroadcastLeft(joinType),
            broadcastRight = hashable && canBuildBroadcastRight(joinType),
            hashLeft = hashable && canBuildShuffledHashJoinLeft(joinType),
            hashRight = hashable && canBuildShuffledHashJoinRight(joinType),
            preservesLeft = joinType == LeftOuter || joinType == FullOuter,
            preservesRight = joinType == RightOuter || joinType == FullOuter,
            mergeable = lk.forall(k => RowOrdering.isOrderable(k.dataType)),
            cluster = cluster,
            limits = limits,
            defaultMode = conf.getConf(SpringbokConf.JOIN_DEFAULT_MODE)
          )
          val source = (e: Estimate) => e.rows.map(_.source.name)
          // Another one when it is revised than at first, and then always the same.
          val revised = if (record.planned.isEmpty) 0 else 17
          val choice =
            forced.fold(JoinChoice(input))(s => JoinChoice.forced(input, s + record.id * 31 + revised))
          JoinDecision(choice, Some(input), source(ls), source(rs))
        }
      case _ => left(Reason.notEqui)
    }
  }

  private def side(p: LogicalPlan, keys: Seq[Expression], e: Estimate): JoinCost.Side = {
    val shuffled = p match {
      case LogicalQueryStage(_, s: ShuffleQueryStageExec) if s.isMaterialized => Some(s)
      case _ => None
    }
    val largest =
      shuffled.flatMap(_.mapStats).map(_.bytesByPartitionId.foldLeft(0L)(math.max) * JoinCost.compression)
    JoinCost.Side(
      e.rows.map(_.value),
      e.rowBytes,
      e.boundBytes,
      partitioned = shuffled.isDefined || partitionedOn(p, keys),
      largestPartition = largest
    )
  }

  /** Whether the plan leaves its rows partitioned on these keys: an aggregate or window on a subset of them. */
  private def partitionedOn(p: LogicalPlan, keys: Seq[Expression]): Boolean = {
    def within(by: Seq[Expression]) = by.nonEmpty && by.forall(b => keys.exists(_.semanticEquals(b)))
    p match {
      case a: Aggregate => within(a.groupingExpressions)
      case w: Window => within(w.partitionSpec)
      case f: Filter => partitionedOn(f.child, keys)
      case Project(list, child) =>
        val back = AttributeMap(list.collect { case a @ Alias(from: Attribute, _) => a.toAttribute -> from })
        partitionedOn(child, keys.map(_.transform { case a: Attribute => back.getOrElse(a, a) }))
      case _ => false
    }
  }

  private def broadcastStage(p: LogicalPlan): Boolean = p match {
    case LogicalQueryStage(_, _: BroadcastQueryStageExec) => true
    case _ => false
  }

  private def bucketed(p: LogicalPlan): Boolean = conf.bucketingEnabled && p.exists {
    case LogicalRelation(fs: HadoopFsRelation, _, _, _, _) => fs.bucketSpec.isDefined
    case _ => false
  }
}

package org.apache.spark.sql.springbok.rules.joins

import scala.util.Try

import org.apache.spark.SparkEnv
import org.apache.spark.internal.config.{MAX_RESULT_SIZE, MEMORY_FRACTION}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.planning.{ExtractEquiJoinKeys, ExtractSingleColumnNullAwareAntiJoin}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern.DYNAMIC_PRUNING_SUBQUERY
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.joins.HashJoin
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.apache.spark.sql.springbok.cost.{
  Cluster,
  Distribution,
  JoinChoice,
  JoinCost,
  JoinInput,
  JoinLimits,
  Strategy
}
import org.apache.spark.sql.springbok.keys.FilterKey
import org.apache.spark.sql.springbok.physical.StageFeedback
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{JoinDecision, JoinState, LoggedJoin, PlanningState}
import org.apache.spark.sql.springbok.stats.estimate.{Estimate, KeyDomain}
import org.apache.spark.sql.springbok.stats.operator.PlanStats
import org.apache.spark.sql.types.LongType

/** Takes one planning's decisions; shares what it has learned of the plan between them. */
final private[springbok] class JoinChooser(plan: LogicalPlan, lasting: PlanStats.Lasting)
    extends JoinSelectionHelper {
  private val conf = SQLConf.get
  private val stats = new PlanStats(Some(new StageFeedback), lasting)
  private val shared = new SharedBuildSides(plan)
  private val forced = conf.getConf(SpringbokConf.FORCED)
  private lazy val cluster = Cluster.of(SparkSession.active.sparkContext, conf)
  private lazy val limits = {
    val spark = SparkSession.active.sparkContext.conf
    // The rows of a broadcast are a result that the driver collects; 0 is no limit.
    val result = Option(spark.get(MAX_RESULT_SIZE)).filter(_ > 0).getOrElse(Long.MaxValue)
    JoinLimits(
      SpringbokConf.broadcastBytes(conf, measured = false),
      conf.getConf(SpringbokConf.BROADCAST_MEMORY_FRACTION),
      cluster.memoryPerTask(spark.get(MEMORY_FRACTION)) *
        conf.getConf(SpringbokConf.SHUFFLED_HASH_MEMORY_FRACTION),
      conf.getConf(SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES),
      measuredBytes = SpringbokConf.broadcastBytes(conf, measured = true),
      stored = SparkEnv.get.memoryManager.onHeapStorageMemoryUsed,
      sparkBroadcastBytes = math.min(result, conf.maxBroadcastTableSizeInBytes)
    )
  }

  private lazy val pruningKeys: Seq[Expression] =
    if (!plan.containsPattern(DYNAMIC_PRUNING_SUBQUERY)) Nil
    else
      plan.flatMap(_.expressions.flatMap(_.collect { case d: DynamicPruningSubquery => d.buildKeys })).flatten
  NeededOrder.mark(plan)
  FewTasks.mark(plan, cluster.cores)

  /** Bytes of the relations that Spark would make anyway for the joins that are still to be decided. */
  private var ahead = plan.collect {
    case j: Join if j.getTagValue(JoinState.tag).isEmpty => sparks(j)
  }.sum

  def first(j: Join, query: PlanningState): LogicalPlan = {
    ahead -= sparks(j)
    val record = JoinChooser.record(j, query)
    val decision = decided(j, record)
    record.feedsPruning = decision.choice.reason == Reason.feedsPruning
    record.decide(decision, held(j, record, decision))
    hinted(j, record, decision.choice.chosen)
  }

  def again(j: Join, record: JoinState): LogicalPlan = {
    val decision = decided(j, record)
    if (decision.choice.reason != Reason.broadcastStarted)
      record.decide(decision, held(j, record, decision))
    hinted(j, record, decision.choice.chosen)
  }

  private def hinted(j: Join, record: JoinState, chosen: Strategy): Join = {
    def on(side: BuildSide, s: JoinStrategyHint): JoinHint =
      if (side == BuildLeft) JoinHint(Some(HintInfo(Some(s))), None)
      else JoinHint(None, Some(HintInfo(Some(s))))
    val hint = chosen match {
      case Strategy.Broadcast(side) => on(side, BROADCAST)
      case Strategy.ShuffledHash(side) => on(side, SHUFFLE_HASH)
      case Strategy.SortMerge => on(BuildLeft, SHUFFLE_MERGE)
      case Strategy.NestedLoop(side) => on(side, BROADCAST)
      case Strategy.Cartesian => on(BuildLeft, SHUFFLE_REPLICATE_NL)
      case Strategy.Spark => if (record.hinted) record.userHint else j.hint
    }
    record.hinted = chosen != Strategy.Spark
    val out = if (hint == j.hint) j else j.copy(hint = hint)
    out.setTagValue(JoinState.tag, record)
    out
  }

  private def decided(j: Join, record: JoinState): JoinDecision = {
    def spark(reason: Reason) = JoinDecision(JoinChoice.spark(reason), None, None, None)
    lazy val hints =
      if (record.userHint == JoinHint.NONE) UserHints.none else UserHints.of(record.userHint, possible(j))
    def byCost(sides: JoinInput) = {
      val input = sides.copy(limits = sides.limits.copy(held = record.query.heldBeside(record) + ahead))
      val source = (p: LogicalPlan) => stats(p).rows.map(_.source.name)
      // Another one when it is revised than at first, and then always the same.
      val revised = if (record.planned.isEmpty) 0 else 17
      val choice = forced.fold(JoinChoice(input))(s => JoinChoice.forced(input, s + record.id * 31 + revised))
      val serves = Strategy.build(choice.chosen).map(JoinChoice.build(input, _).sharedBy).filter(_ > 1)
      val notes = hints.notes ++ ignored(j) ++
        serves.filter(_ => choice.distribution.contains(Distribution.Broadcast)).map(Reason.broadcastShared)
      JoinDecision(choice, Some(input), source(j.left), source(j.right), notes)
    }
    j match {
      case _ if !conf.getConf(SpringbokConf.JOIN_ENABLED) => spark(Reason.joinDisabled)
      case _ if Seq(j.left, j.right).exists(Placement.broadcastStage) => spark(Reason.broadcastStarted)
      case _ if FewTasks.read(j) && forced.isEmpty => spark(Reason.fewTasks)
      case _ if hints.followed.isDefined => spark(Reason.hint(hints.followed.get)).copy(notes = hints.notes)
      case ExtractEquiJoinKeys(_, lk, rk, _, _, _, _, _) =>
        // The scan that is pruned may be part of a stage by now, and its expressions out of sight.
        if (
          record.feedsPruning || forced.isEmpty && (lk ++ rk)
            .exists(k => pruningKeys.exists(_.semanticEquals(k)))
        )
          spark(Reason.feedsPruning)
        else byCost(equiJoin(j, lk, rk))
      case ExtractSingleColumnNullAwareAntiJoin(_, _) =>
        val d = byCost(otherJoin(j))
        d.copy(choice = d.choice.copy(Strategy.Broadcast(BuildRight), Reason.nullAwareAnti))
      case _ => byCost(otherJoin(j))
    }
  }

  /** What was left out of the statistics of the tables that meet in this join, and in none below it. */
  private def ignored(j: Join): Seq[Reason] = {
    def tables(p: LogicalPlan): Seq[LogicalRelation] = p match {
      case _: Join => Nil
      case r: LogicalRelation => Seq(r)
      case other => other.children.flatMap(tables)
    }
    j.children.flatMap(tables).flatMap(stats.ignored).distinct
  }

  /** The strategies that the join's type and keys allow, by the side that they build. */
  private def possible(j: Join): UserHints.Possible = {
    def when(s: JoinStrategyHint, allowed: Boolean): Set[JoinStrategyHint] =
      if (allowed) Set(s) else Set.empty
    val both = when(SHUFFLE_REPLICATE_NL, j.joinType.isInstanceOf[InnerLike])
    j match {
      case ExtractEquiJoinKeys(t, lk, rk, _, _, _, _, _) =>
        val (hash, merge) = (hashable(lk ++ rk), when(SHUFFLE_MERGE, mergeable(t, lk)))
        UserHints.Possible(
          equi = true,
          both ++ merge ++ when(BROADCAST, hash && canBuildBroadcastLeft(t)) ++
            when(SHUFFLE_HASH, hash && canBuildShuffledHashJoinLeft(t)),
          both ++ merge ++ when(BROADCAST, hash && canBuildBroadcastRight(t)) ++
            when(SHUFFLE_HASH, hash && canBuildShuffledHashJoinRight(t))
        )
      case _ => UserHints.Possible(equi = false, both + BROADCAST, both + BROADCAST)
    }
  }

  private def hashable(keys: Seq[Expression]): Boolean =
    keys.forall(k => UnsafeRowUtils.isBinaryStable(k.dataType))

  private def mergeable(t: JoinType, keys: Seq[Expression]): Boolean =
    t != LeftSingle && keys.forall(k => RowOrdering.isOrderable(k.dataType))

  private def equiJoin(j: Join, lk: Seq[Expression], rk: Seq[Expression]): JoinInput = {
    val hash = hashable(lk ++ rk)
    val (pl, pr) = Placement.of(j.left, lk, j.right, rk, conf)
    val (fl, fr) = ForgoneFilter.of(j, lk, rk, stats, conf, cluster.cores)
    JoinInput(
      side(j.left, lk, pl).copy(filtered = fl),
      side(j.right, rk, pr).copy(filtered = fr),
      broadcastLeft = hash && canBuildBroadcastLeft(j.joinType),
      broadcastRight = hash && canBuildBroadcastRight(j.joinType),
      hashLeft = hash && canBuildShuffledHashJoinLeft(j.joinType),
      hashRight = hash && canBuildShuffledHashJoinRight(j.joinType),
      preservesLeft = j.joinType == LeftOuter || j.joinType == FullOuter,
      preservesRight = j.joinType == RightOuter || j.joinType == FullOuter,
      mergeable = mergeable(j.joinType, lk),
      cluster = cluster,
      limits = limits,
      defaultMode = conf.getConf(SpringbokConf.JOIN_DEFAULT_MODE),
      cartesian = j.joinType.isInstanceOf[InnerLike],
      orderedOutput = if (NeededOrder.of(j)) stats(j).bytes.getOrElse(0.0) else 0,
      pairs = if (firstSuffices(j)) None else KeyDomain.pairs(lk, rk, stats(j.left), stats(j.right))
    )
  }

  /** Whether a row needs to find only one of its key: semi and anti joins whose condition is the keys alone. */
  private def firstSuffices(j: Join): Boolean = j match {
    case ExtractEquiJoinKeys(LeftSemi | LeftAnti | _: ExistenceJoin, _, _, None, _, _, _, _) => true
    case _ => false
  }

  /** A join without equality. Outer joins but the full one hold the side whose rows may be missing. */
  private def otherJoin(j: Join): JoinInput = JoinInput(
    side(j.left, Nil, None),
    side(j.right, Nil, None),
    broadcastLeft = canBuildBroadcastLeft(j.joinType) || j.joinType == FullOuter,
    broadcastRight = canBuildBroadcastRight(j.joinType) || j.joinType == FullOuter,
    hashLeft = false,
    hashRight = false,
    preservesLeft = false,
    preservesRight = false,
    mergeable = false,
    cluster = cluster,
    limits = limits,
    defaultMode = conf.getConf(SpringbokConf.JOIN_DEFAULT_MODE),
    equi = false,
    cartesian = j.joinType.isInstanceOf[InnerLike]
  )

  private def side(p: LogicalPlan, keys: Seq[Expression], placement: Option[Placement]): JoinCost.Side = {
    val e = stats(p)
    val exchange = p match {
      case LogicalQueryStage(_, s: ShuffleQueryStageExec) if s.isMaterialized => Some(s)
      case _ => None
    }
    // The largest partition's part of the compressed bytes, of the bytes that were counted in memory.
    val largest = for {
      sizes <- exchange.flatMap(_.mapStats).map(_.bytesByPartitionId)
      bytes <- e.boundBytes
    } yield bytes * sizes.foldLeft(0L)(math.max) / math.max(1L, sizes.sum)
    JoinCost.Side(
      e.rows.map(_.value),
      e.rowBytes,
      e.boundBytes,
      partitioned = placement.isDefined,
      largestPartition = largest,
      partitions = placement.map(_.partitions),
      sorted = placement.exists(_.sortedBy(keys)),
      boundRows = e.rows.map(_.bound),
      mostBytes = e.mostBytes,
      sent = exchange.isDefined,
      sharedBy = sharing(p, keys),
      sparks = canBroadcastBySize(p, conf),
      keyBytes = JoinChooser.keyBytes(keys, e),
      slow = !conf.adaptiveExecutionEnabled && BroadcastTime.over(p, cluster.cores, conf)
    )
  }

  /** Bytes of the rows of the broadcast that a join makes, as decided; of a shared one its part. */
  private def held(j: Join, record: JoinState, d: JoinDecision): Double = {
    def relation(rows: Option[Double]) = math.max(rows.getOrElse(0.0), cluster.leastRelation)
    // What is to be broadcast however large is as large as expected: its bound may be beyond all there is.
    val hinted = Seq(j.left -> record.userHint.leftHint, j.right -> record.userHint.rightHint).collect {
      case (p, Some(h)) if h.strategy.contains(BROADCAST) => relation(stats(p).bytes)
    }
    d.input match {
      case Some(in) if d.choice.distribution.contains(Distribution.Broadcast) =>
        val build = JoinChoice.build(in, Strategy.build(d.choice.chosen).get)
        (if (in.equi) relation(build.boundTable) else build.boundTable.getOrElse(0.0)) / build.sharedBy
      case _ if d.choice.chosen == Strategy.Spark => hinted.minOption.getOrElse(sparks(j))
      case _ => 0
    }
  }

  /**
   * Bytes of the relation that Spark itself would make for a join, 0 for none; of a shared one its part. A nested loop's
   * small side has no pages.
   */
  private def sparks(j: Join): Double = j match {
    case ExtractEquiJoinKeys(_, lk, rk, _, _, _, _, _) =>
      val small = Seq(
        (j.left, lk, canBuildBroadcastLeft(j.joinType)),
        (j.right, rk, canBuildBroadcastRight(j.joinType))
      )
      small
        .collect { case (p, k, true) if canBroadcastBySize(p, conf) => sharing(p, k) }
        .maxOption
        .fold(0.0)(cluster.leastRelation / _)
    case _ => 0
  }

  private def sharing(p: LogicalPlan, keys: Seq[Expression]): Int =
    if (keys.isEmpty) 1 else shared.of(p, keys)
}

private[springbok] object JoinChooser {

  /**
   * The plan as it is, with its joins on record: what went wrong has to show in the report. A join whose very record
   * is what went wrong stays without one.
   */
  def undecided(plan: LogicalPlan, query: PlanningState): LogicalPlan = {
    plan.foreach {
      case j: Join if j.getTagValue(JoinState.tag).isEmpty =>
        for (r <- Try(record(j, query))) {
          r.decide(JoinDecision(JoinChoice.spark(Reason.failed), None, None, None), held = 0)
          j.setTagValue(JoinState.tag, r)
        }
      case _ =>
    }
    plan
  }

  /** What a general hash table keeps of a row beside it: its keys as a row, two lengths and the next row's address. */
  private def keyBytes(keys: Seq[Expression], e: Estimate): Double =
    if (keys.isEmpty || HashJoin.rewriteKeyExpr(keys).map(_.dataType) == Seq(LongType)) 0
    else {
      val columns = keys.map {
        case a: Attribute => a
        case k => AttributeReference("key", k.dataType)()
      }
      16 + Estimate.rowBytes(columns, e.columns)
    }

  def record(j: Join, query: PlanningState): JoinState = query.addJoin { log =>
    val (left, right, other) = ExtractEquiJoinKeys.unapply(j) match {
      case Some((_, l, r, o, _, _, _, _)) =>
        (l.map(FilterKey.label), r.map(FilterKey.label), o.map(FilterKey.label))
      case None => (Nil, Nil, j.condition.map(FilterKey.label))
    }
    log.addJoin(LoggedJoin.typeName(j.joinType), left, right, other, j.hint)
  }
}

package org.apache.spark.sql.springbok.rules.runtimefilters.place

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{Expression, ExprId}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.springbok.{
  AppliedRuntimeFilterExec,
  FilterInfo,
  RuntimeFilterExec,
  SummaryPlan
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterMode}
import org.apache.spark.sql.springbok.cost.{Cluster, FilterCost}
import org.apache.spark.sql.springbok.keys.{FilterKey, SourceKey}
import org.apache.spark.sql.springbok.physical.{LateContains, LateFilter}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{
  FilterColumn,
  FilterHint,
  FilterRecord,
  FilterState,
  JoinState,
  Placement
}
import org.apache.spark.sql.springbok.rules.runtimefilters.resolve.PlaceStaticFilters

/** A filter on its way down: its key there, and what it is made of. */
final private[springbok] case class Pending(
    key: Expression,
    sourceKey: SourceKey,
    source: SparkPlan,
    make: MakeEdge
) {
  def at(key: Expression): Pending = copy(key = key)
}

/** The parts of a filter that do not change on the way; `kept` is the expected part of the rows that stay. */
final private[springbok] case class MakeEdge(records: Map[ExprId, FilterInfo], kept: Option[Double])

/** One scan that a filter goes to. */
final private[springbok] case class PlacedAt(target: ExprId, info: FilterInfo)

/** A key of a build side that filters are made of. */
final private[springbok] case class Candidate(
    probeKey: Expression,
    sourceKey: SourceKey,
    at: Seq[PlacedAt],
    kept: Option[Double],
    bloomBytes: Long
)

/** One planning's walk over a plan, from the root down: which filters it gets, and where. */
final private[springbok] class FilterPlacement(
    plan: SparkPlan,
    of: JoinState,
    estimates: JoinEstimates,
    adaptive: Boolean,
    conf: SQLConf
) {
  private val mode = conf.getConf(FilterConf.MODE)
  private val minBenefitMs = conf.getConf(FilterConf.MIN_BENEFIT_MS).toDouble
  private val minRejection = conf.getConf(FilterConf.MIN_REJECTION)
  private val cluster = Cluster.of(SparkSession.active.sparkContext, conf)
  private val maxNodes = conf.getConf(FilterConf.MAX_DEPENDENCY_NODES)
  private val targets = new FilterTargets(plan, estimates)
  private val waiting = new Waiting(estimates, cluster.cores, conf)
  private val budget = new FilterBudget(conf)
  private var nodes = 0

  /** Filters that no earlier planning has placed. */
  private val fresh = mutable.ArrayBuffer.empty[FilterRecord]

  /** The sides that joins have filters from, 0 or 1. */
  private val sources = mutable.Map.empty[JoinState, Int]

  /** Joins with late filters, by an earlier planning: only of these scans may have started without theirs. */
  private val lateJoins = of.query.joins.filter(_.lateFilters).map(_.id).toSet

  def place(): SparkPlan = {
    val first = go(plan, Nil)
    val placed =
      if (!budget.exceeded()) first
      else {
        nodes = 0
        sources.clear()
        withdraw()
        go(plan, Nil)
      }
    for ((join, side) <- sources if join.filterSource.isEmpty) join.filterSource = Some(side)
    placed
  }

  /** Forgets the filters that this planning was the first to place. */
  def withdraw(): Unit = {
    of.query.log.withdraw(fresh.toSet)
    fresh.clear()
  }

  private def go(p: SparkPlan, pending: Seq[Pending]): SparkPlan = p match {
    case j: BaseJoinExec if !j.isInstanceOf[CartesianProductExec] => join(j, pending)
    // The filter that leaves least comes first.
    case _ if targets.isScan(p) =>
      val cached = FilterTargets.isCached(p)
      pending.sortBy(_.make.kept.getOrElse(1.0)).foldLeft(p)(attach(_, _, cached))
    case _ if p.children.isEmpty => p
    case _ =>
      val children = p.children.zipWithIndex.map { case (c, i) => go(c, route(p, i, pending)) }
      p.withNewChildren(children)
  }

  /** What of the pending filters goes to child `i`. */
  private def route(p: SparkPlan, i: Int, pending: Seq[Pending]): Seq[Pending] =
    pending.flatMap(f => targets.routes(p, f.key).collect { case KeyTrace.Route(`i`, key) => f.at(key) })

  private def attach(scan: SparkPlan, f: Pending, cached: Boolean): SparkPlan = {
    val info = f.make.records.get(FilterKey.anchor(f.key).exprId)
    info.fold(scan) { i =>
      val edge = i.late match {
        case None if !adaptive => PlaceStaticFilters.applied(f, scan, i)
        case None => RuntimeFilterExec(f.sourceKey, f.key, scan, f.source)(i)
        case Some(late) =>
          val test = Some(LateContains(f.key, late))
          AppliedRuntimeFilterExec(f.sourceKey, f.key, test, f.source.canonicalized, scan)(i)
      }
      // The link of the scan it stands for; `setLogicalLink` would hand it down to the exchange as well. Not of a cached
      // table: with it the edge would be taken for the table's stage.
      if (!cached) edge.copyTagsFrom(scan)
      edge
    }
  }

  private def join(j: BaseJoinExec, pending: Seq[Pending]): SparkPlan = {
    val record = JoinState.of(j)
    val direction = if (record.isEmpty || mode == FilterMode.Off) None else estimates.direction(j)
    direction match {
      case Some(Right(d)) =>
        val (from, to) = (d.source, 1 - d.source)
        val arriving = route(j, from, pending)
        val built = go(j.children(from), arriving)
        val (source, own) = estimates
          .source(j, d, built)
          .fold((built, Seq.empty[Pending]))(make(j, record.get, d, built, _, arriving))
        val probe = go(j.children(to), route(j, to, pending) ++ own)
        j.withNewChildren(if (from == 0) Seq(source, probe) else Seq(probe, source))
      case other =>
        for (r <- record; Left(why) <- other) declineAll(r, j, why)
        if (mode == FilterMode.Off) record.foreach(r => declineAll(r, j, Reason.modeOff(mode.name)))
        val children = j.children.zipWithIndex.map { case (c, i) => go(c, route(j, i, pending)) }
        j.withNewChildren(children)
    }
  }

  /** The build side with a summary of the keys that filters are made of, and those filters. */
  private def make(
      j: BaseJoinExec,
      record: JoinState,
      d: Direction,
      built: SparkPlan,
      source: Source,
      arriving: Seq[Pending]
  ): (SparkPlan, Seq[Pending]) = {
    val exchange = source.exchange
    // What arrives here shrinks the build side before it is read.
    val shrunk =
      if (source.keys.exists(_.from.isDefined)) 1.0
      else
        arriving
          .flatMap(f => f.make.kept.filter(_ => targets.of(j.children(d.source), f.key).nonEmpty))
          .product
    for (on <- FilterOn.of(j, d) if !source.keys.exists(_.index == on.index))
      decline(record, on.index, on.build, Reason.noSource)
    val candidates = source.keys.flatMap { on =>
      candidate(j, record, d, on, exchange, shrunk) match {
        case Right(c) => Some(c)
        case Left(why) =>
          decline(record, on.index, on.build, why)
          None
      }
    }
    val started = this.started(j, record, d, source)
    if (candidates.isEmpty && started.isEmpty) (built, Nil)
    else {
      val records = candidates.flatMap(_.at.map(_.info.record)) ++ started.map(_._1)
      val keys = candidates.map(c => c.sourceKey -> c.bloomBytes) ++ started.map(_._2)
      val summary = SummaryPlan(
        records.map(r => s"${r.id} <- ${r.sourceKey}"),
        BuildSides.summarizedKeys(exchange, keys),
        conf.getConf(FilterConf.IN_LIMIT),
        cluster.mergeLimit(conf.getConf(FilterConf.MERGE_BYTES)),
        cluster.summaryLimit
      )
      // Without adaptive execution the driver reads the broadcast, and a summary would hide that it is like another one.
      val (marked, edge) =
        if (adaptive) BuildSides.summarized(built, exchange, summary) else (built, exchange)
      val own = candidates.map { c =>
        Pending(c.probeKey, c.sourceKey, edge, MakeEdge(c.at.map(i => i.target -> i.info).toMap, c.kept))
      }
      if (own.nonEmpty) sources += record -> d.source
      (marked, own)
    }
  }

  /**
   * The late filters of the join whose scans have started, so that nothing else is placed from their keys, with these.
   * Planned anew after each stage: their build side may be the one that has finished, and they are decided.
   */
  private def started(
      j: BaseJoinExec,
      record: JoinState,
      d: Direction,
      source: Source
  ): Seq[(FilterRecord, (SourceKey, Long))] =
    for {
      at <- if (lateJoins(record.id)) LateFilter.expected(j.children(1 - d.source)) else Nil
      if at.info.record.join == record.id
      on <- source.keys if on.index == at.info.record.key
      key <- BuildSides.sourceKey(source.exchange, j, d, on)
    } yield {
      if (BuildSides.finished(source.exchange)) at.late.foreach(_.decide(at, key, source.exchange, conf))
      at.info.record -> (key -> estimates.bloomBytes(j, d, on))
    }

  private def candidate(
      j: BaseJoinExec,
      record: JoinState,
      d: Direction,
      on: FilterOn,
      exchange: SparkPlan,
      shrunk: Double
  ): Either[Reason, Candidate] = {
    val buildKey = on.build
    val wanted = FilterHint.wants(j, 1 - d.source)
    for {
      _ <- Either.cond(!FilterHint.forbids(j, 1 - d.source), (), Reason.filterHint)
      probeKey <- FilterKey.of(on.probe).toRight(Reason.keyType(buildKey.dataType.sql))
      _ <- Either.cond(FilterKey.admissible(probeKey), (), Reason.keyExpression(FilterKey.label(on.probe)))
      sourceKey <- BuildSides.sourceKey(exchange, j, d, on).toRight(Reason.noSummary)
      estimate = estimates.kept(j, d, on)
      kept = estimate.map(k => math.min(1.0, k.kept * shrunk))
      useless = kept.filter(_ > 1 - minRejection && !wanted).map(Reason.notSelective)
      // What was declined before, and would be again, need not be traced to its scans at each planning.
      _ <- useless.filter(_ => record.query.log.declined(record.id, on.index)).toLeft(())
      all = targets.of(j.children(1 - d.source), probeKey, targets.own(j))
      _ <- Either.cond(all.nonEmpty, (), targets.whyNone(j.children(1 - d.source), probeKey))
      broadcast = !j.isInstanceOf[ShuffledJoin]
      reached = all.filterNot(t => SparkFilters.cover(t.at, t.key, buildKey, broadcast))
      _ <- Either.cond(reached.nonEmpty, (), Reason.sparkFilters)
      _ <- useless.toLeft(())
      // The stage of a broadcast join starts when its build side is there.
      local = (t: Target) => broadcast && t.sameStage
      pushed = if (adaptive) reached else reached.filter(PlaceStaticFilters.reaches(_, sourceKey, conf))
      _ <- Either.cond(pushed.nonEmpty, (), Reason.adaptiveOff)
      near = if (mode == FilterMode.Local) pushed.filter(local) else pushed
      _ <- Either.cond(near.nonEmpty, (), Reason.modeOff(mode.name))
      benefit = (1 - kept.getOrElse(FilterCost.unknownKept)) * near.map(_.benefitNs).sum / 1e6 / cluster.cores
      // A scan that waits for another stage, to save less than that stage takes to be scheduled, loses; one that waits
      // anyway loses what planning the filter takes.
      least = if (near.exists(local)) minBenefitMs * FilterCost.localShare else minBenefitMs
      _ <- Either.cond(wanted || waiting.always || benefit >= least, (), Reason.smallBenefit(benefit, least))
      waits = wanted || !adaptive || waiting.edge(record, on, exchange, benefit)
      edge = (t: Target) => waits || local(t)
      allowed = near.filter(t => edge(t) || waiting.mayBeLate(j, on, t, kept))
      _ <- Either.cond(allowed.nonEmpty, (), Reason.noWaiting)
      bloomBytes = estimates.bloomBytes(j, d, on)
      share = FilterBudget.Share(allowed.size.toLong, bloomBytes)
      _ <- Either.cond(budget.allows((record.id, on.index), benefit, share), (), Reason.tooManyFilters)
      size = BuildSides.nodes(exchange) * allowed.count(edge)
      _ <- Either.cond(nodes + size <= maxNodes, (), Reason.planTooLarge)
    } yield {
      nodes += size
      record.scansWait.putIfAbsent(on.index, waits): Unit
      if (!allowed.forall(edge)) record.lateFilters = true
      lazy val label = FilterKey.label(buildKey)
      val at = allowed.map { t =>
        val placed: Placement => FilterState =
          if (edge(t)) FilterState.Placed(_) else FilterState.Late(_)
        val f = record.query.log.place(record.id, on.index, t.column.exprId, placed, kept) { state =>
          val made =
            new FilterRecord(record.id, on.index, label, Some(FilterColumn(t.table, t.label)), state)
          fresh += made
          made
        }
        PlacedAt(
          t.column.exprId,
          FilterInfo(
            record.query,
            f,
            estimate.flatMap(_.domain),
            t.saving,
            minRejection,
            wanted,
            targets.pushable(t.at),
            t.grouped,
            waiting.late(edge(t))
          )
        )
      }
      // What a late filter leaves depends on when it comes.
      val leaves = kept.filter(_ => waits)
      Candidate(probeKey, sourceKey, at.distinctBy(_.target), leaves, bloomBytes)
    }
  }

  /** No side is a source: the right side's keys stand for the join's. */
  private def declineAll(record: JoinState, j: BaseJoinExec, why: Reason): Unit =
    FilterOn.of(j, Direction(1)).foreach(on => decline(record, on.index, on.build, why))

  private def decline(record: JoinState, i: Int, key: Expression, why: Reason): Unit =
    record.query.log.decline(record.id, i, FilterKey.label(key), why)
}

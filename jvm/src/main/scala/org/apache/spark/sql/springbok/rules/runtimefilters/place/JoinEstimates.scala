package org.apache.spark.sql.springbok.rules.runtimefilters.place

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.optimizer.BuildLeft
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{QueryStageExec, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.springbok.SummarizeKeysExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{JoinSide, Sides}
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterType}
import org.apache.spark.sql.springbok.cost.{ChoicePolicy, FilterCost, JoinCost}
import org.apache.spark.sql.springbok.keys.{Comparison, FilterKey, KeyType, SplitBlockBloom}
import org.apache.spark.sql.springbok.physical.StageFeedback
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{FilterHint, JoinState, LoggedJoin}
import org.apache.spark.sql.springbok.stats.estimate.{ColumnStats, Estimate, KeyDomain, Rows}
import org.apache.spark.sql.springbok.stats.estimate.{Source => From, ValueRange}
import org.apache.spark.sql.springbok.stats.operator.PlanStats
import org.apache.spark.sql.springbok.stats.source.TableFooters

/**
 * Expected effect of a filter.
 *
 * @param kept
 *   part of the probe side's rows that stay
 * @param domain
 *   distinct values of the probe side's key, None if unknown
 */
final private[springbok] case class Kept(kept: Double, domain: Option[Double])

/** What statistics say about the filters of a join. */
final private[springbok] class JoinEstimates(
    conf: SQLConf,
    lasting: PlanStats.Lasting,
    adaptive: Boolean = true
) {
  private val stats = new PlanStats(Some(new StageFeedback), lasting)
  private val policy = ChoicePolicy.of(conf)
  private val minRejection = conf.getConf(FilterConf.MIN_REJECTION)
  val deterministic: Determinism = new Determinism
  private val directions = new IdentityHashMap[BaseJoinExec, Option[Either[Reason, Direction]]]()

  /**
   * Which side filters which, or why none may. The side that is filtered must lose rows without a match anyway; of two
   * possible directions the one that is selective is taken, of two such the one whose keys are read from fewer bytes.
   */
  def direction(j: BaseJoinExec): Option[Either[Reason, Direction]] = {
    val known = directions.get(j)
    if (known != null) known
    else {
      val d = decided(j)
      directions.put(j, d): Unit
      d
    }
  }

  private def decided(j: BaseJoinExec): Option[Either[Reason, Direction]] = {
    val allowed = JoinEstimates.sources(j.joinType)
    j match {
      case b: BroadcastHashJoinExec if b.isNullAwareAntiJoin =>
        Some(Left(Reason.filterJoinType("null-aware anti")))
      case b: BroadcastHashJoinExec =>
        val build = if (b.buildSide == BuildLeft) 0 else 1
        Some(
          if (!allowed.contains(build)) Left(Reason.filterJoinType(LoggedJoin.typeName(j.joinType)))
          else ready(j, Seq(build))
        )
      case _: ShuffledJoin if !adaptive => Some(Left(Reason.adaptiveOff))
      case n: BroadcastNestedLoopJoinExec if adaptive =>
        val build = if (n.buildSide == BuildLeft) 0 else 1
        Option.when(allowed.contains(build) && FilterOn.ranges(n, Direction(build)).nonEmpty)(
          ready(j, Seq(build))
        )
      case _: ShuffledJoin =>
        Some(
          if (allowed.isEmpty) Left(Reason.filterJoinType(LoggedJoin.typeName(j.joinType)))
          else ready(j, allowed)
        )
      case _ => None
    }
  }

  private def ready(j: BaseJoinExec, sides: Seq[Int]): Either[Reason, Direction] = {
    val sources = sides.flatMap(s => source(j, Direction(s), j.children(s)).map(s -> _)).toMap
    // A broadcast is read from the very relation that the join probes, whatever it was made of.
    val fixed = sides
      .filter(sources.contains)
      .filter(s =>
        !j.isInstanceOf[ShuffledJoin] || deterministic(j.children(s), if (s == 0) j.leftKeys else j.rightKeys)
      )
    if (!conf.exchangeReuseEnabled) Left(Reason.reuseOff)
    else if (sources.isEmpty) Left(Reason.noSource)
    else if (fixed.isEmpty) Left(Reason.indeterminate)
    else {
      // A side that has finished can filter the other without anyone waiting.
      val finished = fixed.filter(s =>
        sources(s).exchange match {
          case q: ShuffleQueryStageExec => BuildSides.finished(q)
          case _ => false
        }
      )
      // A side that the query wants filtered is not the source.
      val hinted = fixed.filter(s => FilterHint.wants(j, 1 - s))
      // Sizes that become known while the side it was to be runs turn nothing around: what it was for has been held up.
      val before = JoinState.of(j).flatMap(_.filterSource).filter(fixed.contains)
      // Nor is one that has all of the other's keys.
      lazy val selective = fixed.filter(s => sources(s).keys.exists(selects(j, Direction(s), _)))
      val sides =
        if (finished.size == 1) finished
        else if (before.isDefined) before.toSeq
        else if (hinted.size == 1) hinted
        else if (fixed.size > 1 && selective.nonEmpty) selective
        else fixed
      def cheapest = sides.minBy(s => bytes(j, Direction(s), sources(s)))
      val side = JoinState.of(j).fold(cheapest)(r => policy.creationSide(sides, r.id)(cheapest))
      Right(Direction(side))
    }
  }

  /** What the filters of a join are read from, of this build side. */
  def source(j: BaseJoinExec, d: Direction, built: SparkPlan): Option[Source] =
    BuildSides.source(j, d, built, passing(_).flatMap(_.rows).fold(Double.MaxValue)(_.value))

  /** Whether a filter is expected to remove enough of the probe side, by all that is known. */
  def selects(j: BaseJoinExec, d: Direction, on: FilterOn): Boolean =
    on.range.isEmpty && kept(j, d, on).forall(_.kept <= 1 - minRejection)

  /** What the footers of a relation's files say, asked for once a planning. */
  def footers(relation: HadoopFsRelation): Option[TableFooters] = stats.footers(relation)

  /** Expected rows of an operator's output; where nothing counts them, as many as its bytes may hold. */
  def rows(p: SparkPlan): Option[Double] =
    counted(p).orElse(p.logicalLink.flatMap(l => sizeInBytes(l).map(_ / stats(l).rowBytes)))

  /** Expected rows of an operator's output, None where nothing counts them. */
  def counted(p: SparkPlan): Option[Double] = p.logicalLink.flatMap(stats(_).rows).map(_.value)

  /** Geometric mean of the rows of an operator's output that are expected and that are possible. */
  def risked(p: SparkPlan): Option[Double] =
    p.logicalLink.flatMap(stats(_).rows).map(r => JoinCost.risked(r.value, r.bound))

  /**
   * The part of a side's rows that a join lets through, if each of them is in the result at most once. No less than a
   * tenth: the estimate may be off, and a test for nothing costs less than a row for nothing.
   */
  def passed(j: BaseJoinExec, s: Int): Double = {
    val part = for {
      out <- j.logicalLink.flatMap(stats(_).rows)
      in <- side(j, s).flatMap(_.rows)
    } yield out.value / math.max(1.0, in.value)
    part.fold(1.0)(p => math.max(0.1, math.min(1.0, p)))
  }

  /** Time in ns that an operator takes for a row that comes from child `from`. */
  def cost(p: SparkPlan, from: Int): Double = p match {
    case b: BroadcastHashJoinExec if (b.buildSide == BuildLeft) == (from == 1) => lookupNs(b)
    case _: BroadcastHashJoinExec => 0
    case _ => KeyTrace.cost(p)
  }

  /** The same of a lookup in a broadcast that may not be there yet. */
  def lookupNs(b: BroadcastHashJoinExec): Double = {
    val (s, keys) = if (b.buildSide == BuildLeft) (0, b.leftKeys) else (1, b.rightKeys)
    side(b, s).flatMap(e => e.rows.map(e -> _.value)).fold(FilterCost.probe) { case (e, rows) =>
      val key = Option.when(keys.size == 1)(keys.head).filter(k => KeyType.isLong(k.dataType))
      val range =
        for (c <- key.flatMap(FilterKey.only).flatMap(e.columns.get); r <- c.range) yield r.width
      FilterCost.lookup(rows, key.isDefined, range.exists(FilterCost.dense(_, rows)))
    }
  }

  /** The effect of a filter, None if nothing is known. */
  def kept(j: BaseJoinExec, d: Direction, on: FilterOn): Option[Kept] =
    on.range.fold(matched(j, d, on))(within(j, d, on, _))

  /**
   * A bound is the extreme one of the values of the rows that are left, spread evenly over their column's range: of n
   * rows the smallest is expected at 1 / (n + 1) of it.
   */
  private def within(j: BaseJoinExec, d: Direction, on: FilterOn, c: Comparison): Option[Kept] =
    for {
      e <- build(j, d, on)
      rows <- e.rows
      b <- column(e, on.build)
      p <- side(j, 1 - d.source).flatMap(column(_, on.probe))
      ValueRange(bMin, bMax) <- b.range
      ValueRange(pMin, pMax) <- p.range
      if pMax > pMin
    } yield {
      val edge = (bMax - bMin) / (rows.value + 1)
      val part = if (c.below) bMax - edge - pMin else pMax - bMin - edge
      Kept(math.max(0.0, math.min(1.0, part / (pMax - pMin))), None)
    }

  private def matched(j: BaseJoinExec, d: Direction, on: FilterOn): Option[Kept] = {
    for (b <- build(j, d, on); p <- side(j, 1 - d.source); rows <- b.rows) yield {
      val (bs, ps) = (column(b, on.build), column(p, on.probe))
      val known = bs.exists(_.ndv.isDefined) || ps.exists(_.ndv.isDefined)
      // A small table of keys, counted by its rows alone, may be the whole of a dimension or a few of many.
      val list =
        (for (x <- bs; y <- ps)
          yield !x.tight && !y.tight && x.ndv.getOrElse(x.table.rows) * 100 < y.ndv.getOrElse(y.table.rows))
          .getOrElse(false)
      val domain =
        if (list) None
        else if (known) Some(KeyDomain.of(Seq(only(on.probe)), Seq(only(on.build)), p, b))
        // Without distinct values: the part of the build side's table that is left.
        else bs.map(_.table.rows)
      val distinct = bs.fold(rows.value)(c => math.min(c.remaining, rows.value))
      domain.map(n => Kept(math.min(1.0, distinct / math.max(1.0, n)), domain))
    }
  }.flatten

  private def column(e: Estimate, key: Expression): Option[ColumnStats] =
    FilterKey.only(key).flatMap(e.columns.get)

  /** An expression over one column has no more values than it. */
  private def only(key: Expression): Expression = FilterKey.only(key).getOrElse(key)

  /** Size in bytes of the bloom filter that tasks of the build side fill, for the keys it may have. */
  def bloomBytes(j: BaseJoinExec, d: Direction, on: FilterOn): Long = {
    val key = on.build
    val keys = build(j, d, on).flatMap { e =>
      val ndv = FilterKey.only(key).flatMap(e.ndv)
      e.rows.map(r => ndv.fold(r.bound)(math.min(_, r.bound)))
    }
    if (on.range.isDefined || !conf.getConf(FilterConf.TYPES).contains(FilterType.Bloom)) 0L
    // As with Impala, 1 MiB when nothing is known.
    else
      keys.fold(math.min(1L << 20, conf.getConf(FilterConf.BLOOM_MAX_BYTES)))(
        SplitBlockBloom.bytesFor(_, conf)
      )
  }

  private def side(j: BaseJoinExec, s: Int): Option[Estimate] = logical(j, s).map(stats(_))

  /** The rows that a filter's keys are read from. */
  private def build(j: BaseJoinExec, d: Direction, on: FilterOn): Option[Estimate] =
    on.from.fold(side(j, d.source))(passing)

  /** The rows that pass an exchange. */
  private def passing(exchange: SparkPlan): Option[Estimate] = {
    val below = SummarizeKeysExec.exchangeOf(exchange).children.headOption
    val e = below.flatMap(_.collectFirst { case p if p.logicalLink.isDefined => stats(p.logicalLink.get) })
    val counted = exchange match {
      case q: QueryStageExec if q.isMaterialized => q.getRuntimeStatistics.rowCount.map(_.toDouble)
      case _ => None
    }
    e.map(e => counted.fold(e)(n => e.withRows(Some(Rows(n, n, From.Runtime)))))
  }

  private def logical(j: BaseJoinExec, s: Int): Option[LogicalPlan] = j.logicalLink.collect { case l: Join =>
    if (s == 0) l.left else l.right
  }

  /** Expected bytes in memory of what filters are read from, else what Spark takes for the side's size. */
  private def bytes(j: BaseJoinExec, d: Direction, source: Source): Double =
    source.keys.headOption
      .flatMap(build(j, d, _))
      .flatMap(_.bytes)
      .orElse(logical(j, d.source).flatMap(sizeInBytes))
      .getOrElse(Double.MaxValue)

  private def sizeInBytes(p: LogicalPlan): Option[Double] = Estimate.known(p.stats.sizeInBytes)
}

private[springbok] object JoinEstimates {

  /** The sides, 0 or 1, whose keys may filter the other one. */
  def sources(t: JoinType): Seq[Int] = {
    val filterable = Sides.dropUnmatched(t)
    JoinSide.both.filter(s => filterable(s.other)).map(_.index)
  }
}

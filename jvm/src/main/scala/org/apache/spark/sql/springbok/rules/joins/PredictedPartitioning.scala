package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.connector.read.SupportsReportPartitioning
import org.apache.spark.sql.execution.adaptive.{
  BroadcastQueryStageExec,
  LogicalQueryStage,
  ShuffleQueryStageExec
}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{FileTable, LocalAggregate, Sides, SparkPlanning}

/**
 * How the rows of a plan will be partitioned when it is executed: hashed by some expressions into so many partitions, or as a
 * connector's table stores them.
 *
 * @param keys
 *   what is hashed, in order; for each the expressions that are equal to it in every row
 * @param sorted
 *   by what each partition is sorted, likewise
 * @param stored
 *   for rows that lie as a table stores them, what is stored together, for each key
 */
final private[springbok] case class PredictedPartitioning(
    keys: Seq[Seq[Expression]],
    partitions: Int,
    sorted: Seq[Seq[Expression]] = Nil,
    stored: Option[StoredBy] = None
) {
  import PredictedPartitioning.position

  private def at(by: Seq[Expression]): Seq[Int] = keys.map(position(_, by))

  /** Whether an operator on these keys can leave the rows where they are. */
  def serves(by: Seq[Expression], allKeys: Boolean): Boolean = {
    val positions = at(by)
    keys.nonEmpty && !positions.contains(-1) && (!allKeys || positions.toSet.size == by.size)
  }

  /** Whether rows of both sides that may match lie in the same partition already. */
  def meets(by: Seq[Expression], other: PredictedPartitioning, otherBy: Seq[Expression]): Boolean =
    at(by) == other.at(otherBy) && ((stored, other.stored) match {
      case (None, None) => partitions == other.partitions
      case (Some(a), Some(b)) => a.meets(b) && (a.aligned || partitions == other.partitions)
      case _ => false
    })

  def sortedBy(by: Seq[Expression]): Boolean =
    sorted.size >= by.size && by.zip(sorted).forall { case (b, s) => s.exists(_.semanticEquals(b)) }

  /** The same in other expressions; None where a hashed expression has no name any more. */
  def mapped(f: Expression => Seq[Expression]): Option[PredictedPartitioning] = {
    val named = keys.map(_.flatMap(f))
    Option.when(named.forall(_.nonEmpty))(
      copy(keys = named, sorted = sorted.map(_.flatMap(f)).takeWhile(_.nonEmpty))
    )
  }
}

/** Predicts on the logical plan the partitioning that `EnsureRequirements` will find on the physical one. */
private[springbok] object PredictedPartitioning extends JoinSelectionHelper {

  def on(keys: Seq[Expression], partitions: Int): PredictedPartitioning =
    PredictedPartitioning(keys.map(Seq(_)), partitions)

  private def position(equal: Seq[Expression], by: Seq[Expression]): Int =
    by.indexWhere(b => equal.exists(_.semanticEquals(b)))

  /**
   * The partitionings of a join's sides that spare a shuffle, as `EnsureRequirements` decides: both where they fit each
   * other, else the one with more partitions, to which the other side is sent.
   */
  def of(
      sides: Sides[LogicalPlan],
      keys: Sides[Seq[Expression]],
      conf: SQLConf
  ): Sides[Option[PredictedPartitioning]] = {
    val allKeys = conf.getConf(SQLConf.REQUIRE_ALL_CLUSTER_KEYS_FOR_CO_PARTITION)
    val found = sides.zip(keys).map { case (p, by) => of(p, conf).filter(_.serves(by, allKeys)) }
    found match {
      case Sides(Some(l), Some(r)) if l.meets(keys.left, r, keys.right) => found
      // Spark sends no rows to where a connector stores others.
      case Sides(l, r) if (l ++ r).exists(_.stored.isDefined) => found.map(_.filter(_.stored.isEmpty))
      case Sides(Some(l), Some(r)) =>
        if (l.partitions >= r.partitions) found.copy(right = None) else found.copy(left = None)
      case _ => found
    }
  }

  def of(plan: LogicalPlan, conf: SQLConf): Option[PredictedPartitioning] = plan match {
    // A stage, or what is computed of one in the stage above it.
    case LogicalQueryStage(_, physical) =>
      physical.outputPartitioning match {
        case h: HashPartitioning => Some(on(h.expressions, h.numPartitions))
        case _ => None
      }
    case FileTable(r, fs) if conf.bucketingEnabled =>
      fs.bucketSpec.flatMap { spec =>
        val columns = spec.bucketColumnNames.flatMap(n => r.output.find(a => conf.resolver(a.name, n)))
        Option.when(columns.size == spec.bucketColumnNames.size)(on(columns, spec.numBuckets))
      }
    case v: DataSourceV2ScanRelation if conf.v2BucketingEnabled => storedBy(v, conf)
    // What lies partitioned on a part of the keys is not sent again.
    case a: Aggregate if a.groupingExpressions.nonEmpty =>
      clustered(a.child, a.groupingExpressions, conf)
        .copy(sorted = Nil)
        .mapped(named(a.aggregateExpressions))
    case LocalAggregate(_, a: Aggregate) =>
      of(a.child, conf).map(_.copy(sorted = Nil)).flatMap(_.mapped(named(a.aggregateExpressions)))
    case w: Window if w.partitionSpec.nonEmpty =>
      val order = w.partitionSpec ++ ascending(w.orderSpec)
      Some(clustered(w.child, w.partitionSpec, conf).copy(sorted = order.map(Seq(_))))
    case j: Join => joined(j, conf)
    case Project(list, child) => of(child, conf).flatMap(_.mapped(named(list)))
    case f: Filter => of(f.child, conf)
    case s: Sort if !s.global => of(s.child, conf).map(_.copy(sorted = ascending(s.order).map(Seq(_))))
    case _ => None
  }

  /** Whether a join with this side is a broadcast one, whatever the size of the relation: adaptive execution keeps it. */
  def broadcastStage(p: LogicalPlan): Boolean = p match {
    case LogicalQueryStage(_, _: BroadcastQueryStageExec) => true
    case _ => false
  }

  private def storedBy(v: DataSourceV2ScanRelation, conf: SQLConf): Option[PredictedPartitioning] =
    for {
      by <- v.keyGroupedPartitioning if by.nonEmpty
      columns = by.flatMap(_.collectLeaves().collect { case a: Attribute => a }) if columns.size == by.size
      partitions <- v.scan match {
        case s: SupportsReportPartitioning => Some(s.outputPartitioning.numPartitions)
        case _ => None
      }
    } yield on(columns, partitions).copy(stored = Some(StoredBy(by, conf.v2BucketingPushPartValuesEnabled)))

  private def clustered(child: LogicalPlan, by: Seq[Expression], conf: SQLConf): PredictedPartitioning =
    of(child, conf)
      .filter(_.serves(by, conf.getConf(SQLConf.REQUIRE_ALL_CLUSTER_KEYS_FOR_DISTRIBUTION)))
      .getOrElse(on(by, conf.numShufflePartitions))

  def ascending(order: Seq[SortOrder]): Seq[Expression] =
    order.takeWhile(o => o.direction == Ascending && o.nullOrdering == NullsFirst).map(_.child)

  /** The names that a projection gives to an expression. */
  private def named(list: Seq[NamedExpression])(e: Expression): Seq[Expression] = list.collect {
    case a: Attribute if a.semanticEquals(e) => a
    case a @ Alias(child, _) if child.semanticEquals(e) => a.toAttribute
  }

  /** A join leaves its rows where it found them: a broadcast join its streamed side's, any other those on its keys. */
  private def joined(j: Join, conf: SQLConf): Option[PredictedPartitioning] = j match {
    case ExtractEquiJoinKeys(joinType, lk, rk, _, _, l, r, hint) =>
      // Of an inner join's keys both have the same value in every row.
      val equal = joinType match {
        case _: InnerLike => lk.zip(rk) ++ rk.zip(lk)
        case _ => Nil
      }
      def withEqual(e: Expression): Seq[Expression] =
        e +: equal.collect { case (from, to) if from.semanticEquals(e) => to }
      val broadcast = Seq(BuildLeft -> j.left, BuildRight -> j.right)
        .collectFirst { case (side, p) if broadcastStage(p) => side }
        .orElse(SparkPlanning.broadcastSide(j, hintOnly = true, conf))
        .orElse(if (hint.isEmpty) SparkPlanning.broadcastSide(j, hintOnly = false, conf) else None)
      val partitioning = (broadcast, joinType) match {
        case (Some(side), _) => of(if (side == BuildRight) l else r, conf)
        case (_, FullOuter) => None
        case _ =>
          val by = if (joinType == RightOuter) rk else lk
          val placed = of(Sides(l, r), Sides(lk, rk), conf)
          // The side that stays says where the rows of both will lie.
          val stays = placed.left.map(_ -> lk).orElse(placed.right.map(_ -> rk))
          val moved = stays.flatMap { case (p, own) =>
            p.mapped(e => position(Seq(e), own) match { case -1 => Nil; case i => Seq(by(i)) })
          }
          val order = if (hintToSortMergeJoin(hint)) by.map(Seq(_)) else Nil
          Some(moved.getOrElse(on(by, conf.numShufflePartitions)).copy(sorted = order))
      }
      partitioning.flatMap(_.mapped(withEqual))
    case _ => None
  }
}

/** A side that is a shuffle whose rows have been written, so that its sizes are known. */
private[joins] object FinishedShuffle {
  def unapply(p: LogicalPlan): Option[ShuffleQueryStageExec] = p match {
    case LogicalQueryStage(_, s: ShuffleQueryStageExec) if s.isMaterialized => Some(s)
    case _ => None
  }
}

/**
 * What a connector stores together.
 *
 * @param by
 *   for each key the column, or a transform of it such as `bucket(8, id)`
 * @param aligned
 *   whether Spark adds the partitions that only the other side of a join has
 */
final private[springbok] case class StoredBy(by: Seq[Expression], aligned: Boolean) {
  def meets(other: StoredBy): Boolean = by.size == other.by.size && by.zip(other.by).forall {
    case (a: TransformExpression, b: TransformExpression) => a.isSameFunction(b)
    case (a, b) => a.isInstanceOf[Attribute] && b.isInstanceOf[Attribute]
  }
}

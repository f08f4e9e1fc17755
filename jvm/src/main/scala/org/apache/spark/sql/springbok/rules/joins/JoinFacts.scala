package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeReference,
  Expression,
  UserDefinedExpression
}
import org.apache.spark.sql.catalyst.optimizer.JoinSelectionHelper
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.joins.HashJoin
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{FileTable, LocalAggregate, Sides, SparkPlanning}
import org.apache.spark.sql.springbok.conf.JoinConf
import org.apache.spark.sql.springbok.cost.{
  BroadcastUse,
  Capabilities,
  Filtered,
  JoinInput,
  Layout,
  Side,
  SideSize,
  Wishes
}
import org.apache.spark.sql.springbok.physical.StageTasks
import org.apache.spark.sql.springbok.stats.estimate.{Estimate, KeyDomain}
import org.apache.spark.sql.types.LongType

/** Collects what the choice of a join's strategy depends on. */
private[joins] object JoinFacts extends JoinSelectionHelper {

  /** @param retained the fraction of each side's rows that the filters of joins above retain */
  def of(j: Join, retained: Sides[Double], planning: JoinPlanning): JoinInput = j match {
    case ExtractEquiJoinKeys(_, leftKeys, rightKeys, _, _, _, _, _) =>
      equiJoin(j, Sides(leftKeys, rightKeys), retained, planning)
    case _ => nonEquiJoin(j, retained, planning)
  }

  private def equiJoin(
      j: Join,
      keys: Sides[Seq[Expression]],
      retained: Sides[Double],
      planning: JoinPlanning
  ): JoinInput = {
    val (stats, conf) = (planning.stats, planning.conf)
    val plans = Sides(j.left, j.right)
    val partitioning = PredictedPartitioning.of(plans, keys, conf)
    val together = plans.toSeq.forall(inOnePartition)
    val filtered = ForgoneFilter.of(j, keys, planning)
    val sides = Sides.each { s =>
      val known = side(plans(s), keys(s), partitioning(s), filtered(s).after(retained(s)), planning)
      if (!together) known
      else known.copy(layout = known.layout.copy(largestPartition = known.size.boundBytes))
    }
    JoinInput(
      sides,
      PossibleStrategies.capabilities(j, keys),
      planning.cluster,
      planning.limits,
      conf.getConf(JoinConf.DEFAULT_MODE),
      orderedOutput = if (NeededOrder.of(j)) stats(j).bytes.getOrElse(0.0) else 0,
      pairs =
        if (firstSuffices(j)) None
        else
          KeyDomain
            .pairs(keys.left, keys.right, stats(j.left), stats(j.right))
            .map(_ * retained.toSeq.min),
      wishes = Wishes(merge = planning.mergePreferred)
    )
  }

  /** Whether a row needs to find only one of its key: semi and anti joins whose condition is the keys alone. */
  private def firstSuffices(j: Join): Boolean = j match {
    case ExtractEquiJoinKeys(LeftSemi | LeftAnti | _: ExistenceJoin, _, _, None, _, _, _, _) => true
    case _ => false
  }

  /** A join without equality. Outer joins but the full one hold the side whose rows may be missing. */
  private def nonEquiJoin(j: Join, retained: Sides[Double], planning: JoinPlanning): JoinInput = JoinInput(
    Sides(j.left, j.right).zip(retained).map { case (p, r) =>
      side(p, Nil, None, Filtered().after(r), planning)
    },
    Capabilities.nonEqui(
      Sides(
        canBuildBroadcastLeft(j.joinType) || j.joinType == FullOuter,
        canBuildBroadcastRight(j.joinType) || j.joinType == FullOuter
      ),
      cartesian = j.joinType.isInstanceOf[InnerLike]
    ),
    planning.cluster,
    planning.limits,
    planning.conf.getConf(JoinConf.DEFAULT_MODE)
  )

  private def side(
      p: LogicalPlan,
      keys: Seq[Expression],
      partitioning: Option[PredictedPartitioning],
      filtered: Filtered,
      planning: JoinPlanning
  ): Side = {
    val e = planning.stats(p)
    val sent = FinishedShuffle.unapply(p).isDefined
    val counted = planning.conf.adaptiveExecutionEnabled && (sent || partitioning.isEmpty)
    // What is too large in any case is not looked at more closely: that may read dictionaries.
    val most =
      if (counted && e.boundBytes.forall(_ > planning.largestBroadcast)) None
      else planning.stats.mostBytes(p)
    val held = if (counted) e.boundBytes else most
    Side(
      SideSize(
        e.rows.map(_.value * filtered.above),
        e.rowBytes,
        e.boundBytes,
        boundRows = e.rows.map(_.bound),
        mostBytes = most,
        keyBytes = keyBytes(keys, e)
      ),
      Layout(
        partitioned = partitioning.isDefined,
        partitions = partitioning.map(_.partitions),
        largestPartition =
          if (uncounted(keys, e, planning)) held else shuffle(p).flatMap(largestPartition(_, held)),
        sorted = partitioning.exists(_.sortedBy(keys)),
        sent = sent,
        counted = counted,
        tasks = ProbeTasks.of(p, planning.cluster.cores, planning.conf),
        heldTables = if (partitioning.isDefined) StageHashTables.of(p, planning.conf) else 0,
        shuffled = partitioning.flatMap(_ => StageHashTables.shuffled(p, planning.conf))
      ),
      BroadcastUse(
        sharedBy = planning.sharing(p, keys),
        slow = !planning.conf.adaptiveExecutionEnabled &&
          BroadcastTime.over(p, planning.cluster.cores, planning.conf),
        bySpark = planning.smallForSpark(p)
      ),
      filtered
    )
  }

  /** Whether all rows lie in one partition: a join with another such side makes no exchange. */
  private def inOnePartition(p: LogicalPlan): Boolean = p match {
    case LogicalQueryStage(_, physical) => physical.outputPartitioning.numPartitions == 1
    case w: Window => w.partitionSpec.isEmpty || inOnePartition(w.child)
    case a: Aggregate => a.groupingExpressions.isEmpty || inOnePartition(a.child)
    case Repartition(1, _, _) | _: GlobalLimit => true
    case LocalAggregate(_, a: Aggregate) => inOnePartition(a.child)
    case _: Project | _: Filter => inOnePartition(p.children.head)
    case _ => false
  }

  /** Whether nobody counts the rows of a key before they are in a hash table: all of them may have the same. */
  private def uncounted(keys: Seq[Expression], e: Estimate, planning: JoinPlanning): Boolean =
    !planning.conf.adaptiveExecutionEnabled && !KeyDomain.uniqueness(keys, e).proven

  /** The finished shuffle that decides in which partitions the rows lie. */
  private def shuffle(p: LogicalPlan): Option[ShuffleQueryStageExec] = p match {
    case FinishedShuffle(s) => Some(s)
    case _: Project | _: Filter | _: Window => shuffle(p.children.head)
    case _ => None
  }

  /** Bytes in memory of the largest partition: its part of the compressed bytes, of the bytes counted in memory. */
  private def largestPartition(exchange: ShuffleQueryStageExec, all: Option[Double]): Option[Double] = for {
    sizes <- exchange.mapStats.map(_.bytesByPartitionId)
    bytes <- all
  } yield bytes * sizes.foldLeft(0L)(math.max) / math.max(1L, sizes.sum)

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
}

/** Tasks that read a side in the stage of its join, if the other side is broadcast. Only executors that run one fetch it. */
private[joins] object ProbeTasks {

  /** None if unknown. */
  def of(side: LogicalPlan, cores: Int, conf: SQLConf): Option[Double] = side match {
    case FinishedShuffle(s) =>
      Some(new StageTasks(_ => None, cores, conf)(s))
    case FileTable(table, files) if files.bucketSpec.isEmpty =>
      // The node keeps its size: files are not counted again for each join.
      Some(StageTasks.splits(table.stats.sizeInBytes, cores, conf))
    case p: Project => of(p.child, cores, conf)
    case f: Filter => of(f.child, cores, conf)
    case j: Join =>
      SparkPlanning
        .broadcastSide(j, hintOnly = true, conf)
        .flatMap(build => of(Sides(j.left, j.right).swapped(build), cores, conf))
    case _ => None
  }
}

/**
 * Whether a build side may take longer than a broadcast is waited for, `spark.sql.broadcastTimeout`. Without adaptive
 * execution, everything below the broadcast runs in that time, however small its result is.
 */
private[springbok] object BroadcastTime {

  /** Bytes of files that a core reads, joins and aggregates in a second: a fifth of what it mostly does. */
  private val bytesPerSecond = 20.0 * (1 << 20)

  def over(side: LogicalPlan, cores: Int, conf: SQLConf): Boolean = {
    val read = side.collectLeaves().map(_.stats.sizeInBytes.toDouble).sum
    conf.broadcastTimeout > 0 &&
    (side.exists(isUnbounded) || read > conf.broadcastTimeout.toDouble * cores * bytesPerSecond)
  }

  /** Whether the time of an operator cannot be told from the bytes that it reads. */
  private def isUnbounded(p: LogicalPlan): Boolean = p match {
    case _: BaseEvalPython | _: ObjectConsumer | _: ScriptTransformation | _: Generate => true
    case j: Join if ExtractEquiJoinKeys.unapply(j).isEmpty => true
    case _ => p.expressions.exists(_.exists(_.isInstanceOf[UserDefinedExpression]))
  }
}

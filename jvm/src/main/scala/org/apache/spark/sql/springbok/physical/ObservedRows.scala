package org.apache.spark.sql.springbok.physical

import java.util.IdentityHashMap

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  BoundReference,
  DynamicPruningExpression,
  Expression,
  ExprId,
  Literal
}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateMode, Partial, PartialMerge}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildSide}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.command.DataWritingCommandExec
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, WriteFilesExec}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, V2TableWriteExec}
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.springbok.{
  AppliedRuntimeFilterExec,
  RuntimeFilterExec,
  SummarizeKeysExec
}
import org.apache.spark.sql.execution.window.WindowExec
import org.apache.spark.sql.springbok.catalyst.HiveScan
import org.apache.spark.sql.springbok.keys.BuildKey
import org.apache.spark.sql.springbok.record.JoinState
import org.apache.spark.sql.springbok.stats.history.Observed

/**
 * The rows of the logical operators of a query that has ended, as far as its metrics tell them, and the number of distinct
 * join keys where tasks have summarized them for a runtime filter.
 *
 * Several physical operators may stand for one logical operator, as the two halves of an aggregate do: the topmost one that
 * counts its rows counts those of the logical operator. Operators above it that keep every row stand for as many.
 *
 * Left out is what would not be the same in another run:
 *   - operators that may have been stopped early, by a limit above them or by a join whose other side came to its end, unless
 *     an exchange stands between, which always takes all rows;
 *   - operators below which a runtime filter has removed rows of a join above. The join itself has its rows: it would have
 *     removed the same ones.
 *
 * @param tableRows
 *   the rows of a table, if they are counted; a scan that has given them all has skipped nothing
 */
final private[springbok] class ObservedRows(tableRows: HadoopFsRelation => Option[Double]) {
  import ObservedRows._

  private val found = mutable.ArrayBuffer.empty[(LogicalPlan, Long)]
  private val distinct = mutable.ArrayBuffer.empty[(LogicalPlan, Attribute, Long)]
  private val done = new IdentityHashMap[SparkPlan, Set[Removal]]()
  private var joinsBy = Map.empty[ExprId, Int]

  /**
   * @param taken
   *   whether all rows of the result were taken
   */
  def of(root: SparkPlan, taken: Boolean): Observed = {
    joinsBy = joinColumns(root).groupBy(identity).map { case (column, joins) => column -> joins.size }
    visit(root, Above(taken)): Unit
    Observed(found.toList, distinct.toList)
  }

  /** The columns of the joins' keys, once for each join. */
  private def joinColumns(p: SparkPlan): Seq[ExprId] = p match {
    case a: AdaptiveSparkPlanExec => joinColumns(a.executedPlan)
    case q: QueryStageExec => joinColumns(q.plan)
    case c: CommandResultExec => joinColumns(c.commandPhysicalPlan)
    case f: RuntimeFilterExec => joinColumns(f.child)
    case j: BaseJoinExec => columnsOf(j).distinct ++ j.children.flatMap(joinColumns)
    case other => other.children.flatMap(joinColumns)
  }

  /** What is still missing above an operator: a join removes the rows that were removed on its behalf. */
  private def stillRemoved(p: SparkPlan, below: Set[Removal]): Set[Removal] = p match {
    case j: BaseJoinExec =>
      val (id, keys) = (JoinState.of(j).map(_.id), columnsOf(j).toSet)
      below.filterNot {
        case Removal.ByFilter(join) => id.contains(join)
        // Of several joins by the column, any one may have pruned.
        case Removal.ByPruning(column) => keys(column) && joinsBy.get(column).contains(1)
        case Removal.Unknown => false
      }
    case s: FileSourceScanExec => below ++ s.partitionFilters.flatMap(pruning)
    case b: BatchScanExec => below ++ b.runtimeFilters.flatMap(pruning)
    case HiveScan(_) => below ++ p.expressions.flatMap(pruning)
    case _ => below
  }

  /** What rows of the output were removed on behalf of joins above. */
  private def visit(p: SparkPlan, above: Above): Set[Removal] = p match {
    case a: AdaptiveSparkPlanExec => visit(a.executedPlan, above)
    case q: ExchangeQueryStageExec if !q.isMaterialized => Set(Removal.Unknown)
    case q: QueryStageExec => visit(q.plan, above)
    case c: CommandResultExec => visit(c.commandPhysicalPlan, above)
    case r: ReusedExchangeExec => visit(r.child, above)
    case _: WholeStageCodegenExec | _: InputAdapter | _: ColumnarToRowExec => visit(p.children.head, above)
    case e: Exchange =>
      once(e) {
        val removed = visit(e.child, above.copy(drained = true, skips = false))
        if (removed.isEmpty) distinct ++= summarized(e)
        removed
      }
    case f: RuntimeFilterExec => visit(f.child, above)
    case f: AppliedRuntimeFilterExec =>
      val removal = Option(f.info).fold[Removal](Removal.Unknown)(i => Removal.ByFilter(i.record.join))
      visit(f.child, above.copy(skips = above.skips || told(f))) + removal
    case _ if keepsRows(p) => visit(p.children.head, above.waitingFor(link(p)))
    case _ => count(p, above)
  }

  private def once(p: SparkPlan)(make: => Set[Removal]): Set[Removal] = Option(done.get(p)).getOrElse {
    val made = make
    done.put(p, made): Unit
    made
  }

  private def count(p: SparkPlan, above: Above): Set[Removal] = {
    subqueries(p)
    val drained = drains(p)
    val below = p.children.zipWithIndex.flatMap { case (child, i) =>
      visit(child, above.below(p, above.drained && drained(i)))
    }
    val removed = stillRemoved(p, below.toSet)
    if (above.drained && !above.skips && removed.isEmpty)
      for (n <- outputRows(p); plan <- above.counted(link(p))) found += plan -> n
    removed
  }

  /** The plan of a subquery is stopped once it has given more rows than it may. */
  private def subqueries(p: SparkPlan): Unit = p.expressions.foreach(_.foreach {
    case s: ExecSubqueryExpression =>
      s.plan match {
        case q: SubqueryExec => once(q)(visit(q.child, Above(drained = false))): Unit
        case _ =>
      }
    case _ =>
  })

  /** Whether the scan was told of a filter and may have skipped rows. */
  private def told(f: AppliedRuntimeFilterExec): Boolean = {
    val pushed = f.predicate.isEmpty || f.info == null || f.filesSkipped + f.rowGroupsSkipped > 0 ||
      f.info.record.effect.pushed.exists(_.isRight)
    pushed && !f.collectLeaves().exists {
      case s: FileSourceScanExec => outputRows(s).exists(n => tableRows(s.relation).contains(n.toDouble))
      case _ => false
    }
  }
}

private[springbok] object ObservedRows {

  /** Why rows are missing. */
  sealed private trait Removal
  private object Removal {

    /** A runtime filter of this join. */
    final case class ByFilter(join: Int) extends Removal

    /** Dynamic partition pruning by this column. */
    final case class ByPruning(column: ExprId) extends Removal
    case object Unknown extends Removal
  }

  /**
   * What stands above an operator.
   *
   * @param drained
   *   whether all rows of the operator were taken
   * @param skips
   *   whether the scan below skips rows on behalf of a filter above
   * @param known
   *   logical operators whose rows have been counted further up
   * @param waiting
   *   logical operators that have as many rows as this one
   */
  final private case class Above(
      drained: Boolean,
      skips: Boolean = false,
      known: List[LogicalPlan] = Nil,
      waiting: List[LogicalPlan] = Nil
  ) {
    private def isKnown(plan: LogicalPlan): Boolean = known.exists(_ eq plan)

    def waitingFor(link: Option[LogicalPlan]): Above =
      copy(waiting = link.filterNot(isKnown).toList ++ waiting)

    /** The logical operators whose rows an operator counts. */
    def counted(link: Option[LogicalPlan]): List[LogicalPlan] =
      if (link.exists(isKnown)) Nil else link.toList ++ waiting

    def below(p: SparkPlan, drained: Boolean): Above =
      Above(drained, skips && p.isInstanceOf[FilterExec], link(p).toList ++ waiting ++ known)
  }

  /** Adaptive execution links the root of a stage to the stage, and what is below to the plan that it was made from. */
  private def link(p: SparkPlan): Option[LogicalPlan] = {
    def planned(l: LogicalPlan): LogicalPlan = l match {
      case s: LogicalQueryStage => planned(s.logicalPlan)
      case other => other
    }
    p.logicalLink.map(planned)
  }

  /** The number of values of the columns whose keys all tasks of an exchange have told. */
  private def summarized(e: Exchange): Seq[(LogicalPlan, Attribute, Long)] = for {
    node <- SummarizeKeysExec.summaryOf(e).toSeq
    if node.plan.keys.nonEmpty && node.isComplete
    plan <- link(inner(node.child)).toSeq
    (BuildKey(BoundReference(at, _, _)), i) <- node.plan.keys.map(_._1).zipWithIndex
    n <- node.summary.key(i).distinct
  } yield (plan, node.output(at), n.round)

  /** The operator itself, without what generated code puts around it. */
  private def inner(p: SparkPlan): SparkPlan = p match {
    case _: WholeStageCodegenExec | _: InputAdapter => inner(p.children.head)
    case _ => p
  }

  private def keepsRows(p: SparkPlan): Boolean = KeepsRows(p) || p.isInstanceOf[CoalesceExec]

  private def outputRows(p: SparkPlan): Option[Long] = p match {
    case a: BaseAggregateExec if a.aggregateExpressions.exists(e => isPartial(e.mode)) => None
    case _: FilterExec | _: BaseJoinExec | _: BaseAggregateExec | _: GenerateExec | _: ExpandExec |
        _: FileSourceScanExec | _: BatchScanExec | _: InMemoryTableScanExec =>
      p.metrics.get("numOutputRows").map(_.value)
    case _ => None
  }

  private def isPartial(mode: AggregateMode): Boolean = mode == Partial || mode == PartialMerge

  /** Whether an operator whose rows are all taken takes all rows of a child. */
  private def drains(p: SparkPlan): Int => Boolean = p match {
    case _: FilterExec | _: BaseAggregateExec | _: WindowExec | _: GenerateExec | _: ExpandExec |
        _: UnionExec | _: TakeOrderedAndProjectExec | _: DataWritingCommandExec | _: WriteFilesExec |
        _: V2TableWriteExec =>
      _ => true
    case j: BroadcastHashJoinExec =>
      val some = broadcast(j.children(build(j.buildSide))).exists(_.value > 0)
      _ => some
    // A partition whose build side is empty is left alone, unless rows without a match are kept.
    case j: ShuffledHashJoinExec =>
      lazy val some = hasRowsInAll(j.children(build(j.buildSide)))
      i => i == build(j.buildSide) || keepsUnmatched(j.joinType) || some
    // A sort takes all rows before it gives the first one, and the first row of the streamed side is always asked for.
    case j: SortMergeJoinExec =>
      i => j.joinType == FullOuter || i == streamed(j.joinType) && sorts(j.children(i))
    case _ => _ => false
  }

  private def streamed(t: JoinType): Int = if (t == RightOuter) 1 else 0

  private def sorts(p: SparkPlan): Boolean = inner(p).isInstanceOf[SortExec]

  /** Whether a shuffle surely has rows in each partition. */
  private def hasRowsInAll(p: SparkPlan): Boolean = inner(p) match {
    case s: ShuffleQueryStageExec => s.isMaterialized && s.mapStats.exists(_.bytesByPartitionId.forall(_ > 0))
    case other => keepsRows(other) && hasRowsInAll(other.children.head)
  }

  private def build(side: BuildSide): Int = if (side == BuildLeft) 0 else 1

  /** The rows of a broadcast. */
  private def broadcast(p: SparkPlan): Option[SQLMetric] = p match {
    case InputAdapter(child) => broadcast(child)
    case other => SummarizeKeysExec.exchangeOf(other).metrics.get("numOutputRows")
  }

  private def keepsUnmatched(t: JoinType): Boolean = t match {
    case LeftOuter | RightOuter | FullOuter | LeftAnti | _: ExistenceJoin => true
    case _ => false
  }

  private def columnsOf(j: BaseJoinExec): Seq[ExprId] =
    (j.leftKeys ++ j.rightKeys).flatMap(_.references).map(_.exprId)

  private def pruning(e: Expression): Seq[Removal] = e.collect {
    case DynamicPruningExpression(_: Literal) => Nil
    case d: DynamicPruningExpression =>
      val columns = d.references.toSeq.map(a => Removal.ByPruning(a.exprId): Removal)
      if (columns.isEmpty) Seq(Removal.Unknown) else columns
  }.flatten
}

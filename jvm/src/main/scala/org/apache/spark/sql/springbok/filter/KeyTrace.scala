package org.apache.spark.sql.springbok.filter

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, QueryStageExec}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.springbok.{
  AppliedRuntimeFilterExec,
  RuntimeFilterExec,
  SummarizeKeysExec
}
import org.apache.spark.sql.execution.window.WindowExec
import org.apache.spark.sql.springbok.cost.FilterCost
import org.apache.spark.sql.types.IntegralType

/**
 * Where a filter on a key may go: from an operator to those of its children in which rows with a foreign key may be left
 * out, given that a join above removes every row whose key is foreign or null.
 *
 * '''Why that is safe''', operator by operator; all others stop the filter:
 *   - projection, filter, sort, exchange: they take rows one by one. Not if an expression is non-deterministic: its value
 *     may depend on the rows that came before.
 *   - union: a row comes from one child; its key is the child's column at the same position.
 *   - aggregate, window: only where the key is a grouping or partition expression: all rows of a group have the same key,
 *     so whole groups go, and those the join above removes. A global aggregate has no such key.
 *   - inner join: a missing row of either side only removes result rows with that row's key. Where the key is one of an
 *     equality of the join, the other side's column is equal in every result row, so it may be filtered as well.
 *   - left outer, semi, anti, existence join: the left side, as each result row has exactly one left row; a semi join's
 *     right side by an equal key, as such rows only match left rows that are removed. Mirrored for right outer.
 *   - never into the null-generating side of an outer join, nor through limits, samples, user code.
 */
object KeyTrace {

  /** A child that a filter may go to, and the key there. */
  final case class Route(child: Int, key: Expression)

  def routes(plan: SparkPlan, key: Expression): Seq[Route] = plan match {
    case p: ProjectExec if p.projectList.forall(_.deterministic) =>
      through(p.projectList, key).map(Route(0, _)).toSeq
    case f: FilterExec if f.condition.deterministic => down(f.child, 0, key)
    case _: SortExec | _: SummarizeKeysExec | _: RuntimeFilterExec => down(plan.children.head, 0, key)
    case e: ShuffleExchangeExec => down(e.child, 0, key)
    case b: BroadcastExchangeExec => down(b.child, 0, key)
    case u: UnionExec =>
      column(key).toSeq.flatMap { a =>
        val at = u.output.indexWhere(_.exprId == a.exprId)
        if (at < 0) Nil
        else u.children.zipWithIndex.map { case (c, i) => Route(i, replace(key, c.output(at))) }
      }
    case agg: BaseAggregateExec
        if agg.groupingExpressions.nonEmpty && agg.resultExpressions.forall(_.deterministic) =>
      val groups = agg.groupingExpressions
      for {
        inner <- through(agg.resultExpressions, key).toSeq
        a <- column(inner)
        g <- groups.find(_.exprId == a.exprId)
        from <- grouping(g)
        if agg.child.outputSet.contains(from)
      } yield Route(0, replace(inner, from))
    case w: WindowExec =>
      column(key)
        .filter(a => w.partitionSpec.exists(_.semanticEquals(a)))
        .toSeq
        .flatMap(_ => down(w.child, 0, key))
    case j: BaseJoinExec => joined(j, key)
    case _ => Nil
  }

  /** The column that a key is: a column or a widening cast of one. Such expressions raise nothing and keep order. */
  def column(key: Expression): Option[Attribute] = key match {
    case a: Attribute => Some(a)
    case Cast(a: Attribute, to: IntegralType, _, _) if widens(a, to) => Some(a)
    case _ => None
  }

  /** The key as people write it: `o_custkey`, without the table that it came by. */
  def label(key: Expression): String = key.transform { case a: AttributeReference =>
    a.withQualifier(Nil)
  }.sql

  /** The key with another column of the same type in it. */
  def replace(key: Expression, by: Attribute): Expression = key.transformUp { case _: Attribute => by }

  private def widens(a: Attribute, to: IntegralType): Boolean = a.dataType match {
    case from: IntegralType => from.defaultSize <= to.defaultSize
    case _ => false
  }

  private def down(child: SparkPlan, index: Int, key: Expression): Seq[Route] =
    if (key.references.subsetOf(child.outputSet)) Seq(Route(index, key)) else Nil

  /** The key below a list of output expressions. */
  private def through(list: Seq[NamedExpression], key: Expression): Option[Expression] =
    column(key).flatMap { a =>
      list
        .collectFirst {
          case x: Attribute if x.exprId == a.exprId => key
          case x @ Alias(inner, _) if x.exprId == a.exprId => key.transformUp { case _: Attribute => inner }
        }
        .filter(column(_).isDefined)
    }

  private def grouping(g: NamedExpression): Option[Attribute] = g match {
    case a: Attribute => Some(a)
    case Alias(a: Attribute, _) => Some(a)
    case _ => None
  }

  private def joined(j: BaseJoinExec, key: Expression): Seq[Route] = {
    val keys: Seq[(Expression, Expression)] = j match {
      case _: HashJoin | _: ShuffledJoin => j.leftKeys.zip(j.rightKeys)
      case _ => Nil
    }
    val (intoLeft, intoRight) = j.joinType match {
      case _: InnerLike => (true, true)
      case LeftOuter | LeftSemi | LeftAnti | _: ExistenceJoin => (true, false)
      case RightOuter => (false, true)
      case _ => (false, false)
    }
    val equalToo = j.joinType match {
      case _: InnerLike | LeftSemi => true
      case _ => false
    }
    val (left, right) =
      (if (intoLeft) down(j.left, 0, key) else Nil, if (intoRight) down(j.right, 1, key) else Nil)
    // Only a key that is the very expression of the equality: a cast of it may be of another type.
    val equals =
      if (!equalToo) Nil
      else
        keys.flatMap { case (l, r) =>
          if (left.nonEmpty && l.semanticEquals(key) && column(r).isDefined) Some(Route(1, r))
          else if (right.nonEmpty && r.semanticEquals(key) && column(l).isDefined) Some(Route(0, l))
          else None
        }
    left ++ right ++ equals
  }

  /** Time in ns that an operator takes for a row that comes from child `from`. */
  def cost(plan: SparkPlan, from: Int): Double = plan match {
    case _: ShuffleExchangeExec => FilterCost.shuffle
    case _: BroadcastExchangeExec => FilterCost.collect
    case _: SortExec => FilterCost.sort
    case _: BaseAggregateExec => FilterCost.aggregate
    case _: WindowExec => FilterCost.window
    case b: BroadcastHashJoinExec =>
      if (from == 0 == (b.buildSide == BuildRight)) FilterCost.probe
      else 0
    case _: ShuffledHashJoinExec | _: BroadcastNestedLoopJoinExec => FilterCost.probe
    case _: SortMergeJoinExec => FilterCost.merge
    case _: ProjectExec | _: FilterExec => FilterCost.project
    case _ => 0
  }

  /**
   * Whether computing a build side again gives the same rows. Known operators with deterministic expressions do; limits,
   * samples and user code may not, so a lost and recomputed stage could hold keys that the filter has never seen.
   */
  def deterministic(plan: SparkPlan): Boolean = {
    val known = plan match {
      case _: FileSourceScanExec | _: LocalTableScanExec | _: RangeExec | _: FilterExec | _: ProjectExec |
          _: BaseAggregateExec | _: BaseJoinExec | _: SortExec | _: UnionExec | _: WindowExec |
          _: ExpandExec | _: ShuffleExchangeExec | _: BroadcastExchangeExec | _: WholeStageCodegenExec |
          _: InputAdapter | _: ColumnarToRowExec | _: SummarizeKeysExec | _: RuntimeFilterExec |
          _: AppliedRuntimeFilterExec | _: AQEShuffleReadExec | _: QueryStageExec | _: ReusedExchangeExec =>
        true
      case _ => false
    }
    val inner = plan match {
      case q: QueryStageExec => Seq(q.plan)
      case r: ReusedExchangeExec => Seq(r.child)
      case p => p.children
    }
    known && plan.expressions.forall(_.deterministic) && inner.forall(deterministic)
  }
}

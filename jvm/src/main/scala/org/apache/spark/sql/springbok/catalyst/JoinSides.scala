package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildSide}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.{
  Aggregate,
  Filter,
  Join,
  LogicalPlan,
  Project,
  Sort,
  Window
}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.joins._

/** One side of a join. */
sealed abstract class JoinSide extends Product with Serializable {

  /** Its position among the join's children. */
  def index: Int

  def other: JoinSide
}

object JoinSide {
  case object Left extends JoinSide {
    override def index: Int = 0
    override def other: JoinSide = Right
  }

  case object Right extends JoinSide {
    override def index: Int = 1
    override def other: JoinSide = Left
  }

  /** Both sides, the left one first. */
  val both: Seq[JoinSide] = Seq(Left, Right)

  def of(build: BuildSide): JoinSide = if (build == BuildLeft) Left else Right
}

/** A value for each side of a join. */
final case class Sides[+T](left: T, right: T) {
  def apply(side: JoinSide): T = if (side == JoinSide.Left) left else right
  def apply(build: BuildSide): T = apply(JoinSide.of(build))
  def map[U](f: T => U): Sides[U] = Sides(f(left), f(right))
  def zip[U](that: Sides[U]): Sides[(T, U)] = Sides((left, that.left), (right, that.right))
  def swapped: Sides[T] = Sides(right, left)
  def updated[U >: T](side: JoinSide, value: U): Sides[U] =
    if (side == JoinSide.Left) copy(left = value) else copy(right = value)
  def toSeq: Seq[T] = Seq(left, right)
}

object Sides {

  /** A value for each side, computed. */
  def each[T](f: JoinSide => T): Sides[T] = Sides(f(JoinSide.Left), f(JoinSide.Right))

  def children(j: BaseJoinExec): Sides[SparkPlan] = Sides(j.left, j.right)

  def keys(j: BaseJoinExec): Sides[Seq[Expression]] = Sides(j.leftKeys, j.rightKeys)

  /** Whether a join of this type drops the rows of a side that have no match: a runtime filter may remove them earlier. */
  def dropUnmatched(t: JoinType): Sides[Boolean] = t match {
    case _: InnerLike | LeftSemi => Sides(true, true)
    case RightOuter => Sides(true, false)
    case LeftOuter | LeftAnti => Sides(false, true)
    case _ => Sides(false, false)
  }

  /**
   * Whether a filter above a join of this type may go to a side: a missing row of the side only removes result rows that were
   * made of it.
   */
  def filteredFromAbove(t: JoinType): Sides[Boolean] = t match {
    case _: InnerLike => Sides(true, true)
    case LeftOuter | LeftSemi | LeftAnti | _: ExistenceJoin => Sides(true, false)
    case RightOuter => Sides(false, true)
    case _ => Sides(false, false)
  }
}

/**
 * The joins whose result is made of the pairs of rows that match, each pair independent of all others. An as-of join of Spark 4.3
 * is none: a row takes the nearest one of the other side, which is another one if that is missing.
 */
private[springbok] object PairwiseJoin {
  def unapply(p: SparkPlan): Option[BaseJoinExec] = p match {
    case j: BroadcastHashJoinExec => Some(j)
    case j: ShuffledHashJoinExec => Some(j)
    case j: SortMergeJoinExec => Some(j)
    case j: BroadcastNestedLoopJoinExec => Some(j)
    case j: CartesianProductExec => Some(j)
    case _ => None
  }
}

/**
 * The query's conditions that Spark was about to push to the scan of a connector's relation. The ones that the connector
 * evaluates completely are gone from the plan afterwards.
 */
private[springbok] object OfferedConditions {
  private val tag = TreeNodeTag[Seq[Expression]]("springbok.offered")

  def remember(r: DataSourceV2Relation, conditions: Seq[Expression]): Unit = r.setTagValue(tag, conditions)

  /** None if nothing was remembered. */
  def of(r: DataSourceV2Relation): Option[Seq[Expression]] = r.getTagValue(tag)
}

/**
 * Where a filter on a column may go in a logical plan: to which child of an operator, if a join above drops every row whose column is
 * null or has no match. `KeyTrace` says the same of physical plans, and why it is safe.
 */
private[springbok] object ColumnTrace {
  def passes(p: LogicalPlan, child: Int, column: Attribute): Boolean =
    p.children(child).outputSet.contains(column) && (p match {
      case Project(list, _) => list.forall(_.deterministic)
      case Filter(condition, _) => condition.deterministic
      case _: Sort | _: LocalAggregate => true
      case a: Aggregate =>
        a.aggregateExpressions.forall(_.deterministic) && isColumn(a.groupingExpressions, column)
      case w: Window => isColumn(w.partitionSpec, column)
      case j: Join => Sides.filteredFromAbove(j.joinType).toSeq(child)
      case _ => false
    })

  private def isColumn(by: Seq[Expression], column: Attribute): Boolean =
    by.exists { case a: Attribute => a.exprId == column.exprId; case _ => false }
}

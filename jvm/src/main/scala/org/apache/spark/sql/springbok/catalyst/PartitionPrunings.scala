package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreePattern.DYNAMIC_PRUNING_SUBQUERY

/**
 * The dynamic partition prunings that Spark has put into a plan. A pruned scan has a copy of a side of a join above it. Spark
 * plans that copy by itself, and prunes by the keys of the side's broadcast. If no join broadcasts an equal side by the same
 * keys any more, Spark gives up the pruning, or runs the side twice.
 */
final private[springbok] class PartitionPrunings(plan: LogicalPlan) {
  import PartitionPrunings._

  private lazy val all = in(plan)

  private lazy val copiedJoins: Map[Seq[Seq[String]], Set[LogicalPlan]] = all
    .flatMap(_.buildQuery.collect { case j: Join => j })
    .groupBy(LeafNames.of)
    .map { case (leaves, joins) => leaves -> joins.map(_.canonicalized).toSet }

  /** Whether a pruning has a copy of this side of a join. */
  def copySide(side: LogicalPlan): Boolean = all.exists(isCopy(side, _))

  /** Whether a pruning has a copy of a side that this join is part of. */
  def copyJoin(j: Join): Boolean =
    all.nonEmpty && copiedJoins.get(LeafNames.of(j)).exists(_(j.canonicalized))

  /** Whether a pruning reads one of the keys of this join. */
  def readKey(j: Join): Boolean = all.nonEmpty && (j match {
    case ExtractEquiJoinKeys(_, left, right, _, _, _, _, _) =>
      (left ++ right).exists(k => all.exists(_.buildKeys.exists(_.semanticEquals(k))))
    case _ => false
  })

  /** Whether all prunings that the joins of `before` serve are served in `after`, the same joins in another order. */
  def keptIn(before: LogicalPlan, after: LogicalPlan): Boolean =
    all.isEmpty || (before eq after) || served(before).subsetOf(served(after))

  private def served(p: LogicalPlan): Set[ExprId] = joins(p)
    .collect { case j @ ExtractEquiJoinKeys(_, leftKeys, rightKeys, _, _, _, _, _) =>
      for {
        (side, keys, other) <- Seq((j.left, leftKeys, j.right), (j.right, rightKeys, j.left))
        s <- in(other) if isCopy(side, s) && isSame(keys, s.buildKeys)
      } yield s.exprId
    }
    .flatten
    .toSet

  private def joins(p: LogicalPlan): Seq[Join] = p.collect { case j: Join => j }

  private def isSame(a: Seq[Expression], b: Seq[Expression]): Boolean =
    a.size == b.size && a.zip(b).forall { case (x, y) => x.semanticEquals(y) }

  private def in(p: LogicalPlan): Seq[DynamicPruningSubquery] =
    if (!p.containsPattern(DYNAMIC_PRUNING_SUBQUERY)) Nil
    else p.flatMap(_.expressions.flatMap(_.collect { case s: DynamicPruningSubquery => s }))
}

private[springbok] object PartitionPrunings extends PredicateHelper {

  /** A plan without the prunings that have a copy of one of these sides. */
  def without(plan: LogicalPlan, sides: Seq[LogicalPlan]): LogicalPlan =
    plan.transformWithPruning(_.containsPattern(DYNAMIC_PRUNING_SUBQUERY)) { case Filter(c, child) =>
      val others = splitConjunctivePredicates(c).filter {
        case s: DynamicPruningSubquery => !sides.exists(isCopy(_, s))
        case _ => true
      }
      others.reduceOption(And).fold(child)(Filter(_, child))
    }

  // Canonical forms are expensive: only those of equal leaves are compared.
  private def isCopy(side: LogicalPlan, s: DynamicPruningSubquery): Boolean =
    LeafNames.of(side) == LeafNames.of(s.buildQuery) && side.canonicalized == s.buildQuery.canonicalized
}

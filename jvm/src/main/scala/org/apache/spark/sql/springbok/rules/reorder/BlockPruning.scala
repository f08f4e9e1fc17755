package org.apache.spark.sql.springbok.rules.reorder

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{BooleanSimplification, PruneFilters, PushDownPredicates}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.execution.dynamicpruning.{CleanupDynamicPruningFilters, PartitionPruning}

/**
 * Dynamic partition pruning of joins that are put into another order. A pruning subquery copies the build side of its join, and
 * Spark runs both as one broadcast if they are equal. So the subqueries of a block are taken away, and Spark's own rules make
 * them anew for the joins in their new order.
 *
 * '''Why the answer cannot change''': a pruning condition removes only rows that its join removes as well.
 *
 * @param plan
 *   the whole plan
 * @param block
 *   joins of the plan
 */
final private[reorder] class BlockPruning(plan: LogicalPlan, block: JoinBlock) extends PredicateHelper {
  import BlockPruning._

  /** The pruning of the block's relations by other relations of the block. */
  private lazy val own: Seq[DynamicPruningSubquery] = for {
    (item, i) <- block.items.zipWithIndex
    d <- of(item)
    by = AttributeSet(block.items.patch(i, Nil, 1).flatMap(_.output))
    found <- Some(d).collect { case s: DynamicPruningSubquery if AttributeSet(s.buildKeys).subsetOf(by) => s }
  } yield found

  /** Whether the joins may take another order: what else is pruned in the plan reads nothing of the block. */
  lazy val allows: Boolean = {
    lazy val leaves = AttributeSet(block.items.flatMap(_.collectLeaves()).flatMap(_.output))
    of(plan).filterNot(d => own.exists(_ eq d)).forall {
      case d: DynamicPruningSubquery => !d.buildQuery.collectLeaves().exists(_.output.exists(leaves.contains))
      case _ => false
    }
  }

  /** The block without its pruning. */
  def without: JoinBlock =
    if (own.isEmpty) block
    else
      block.copy(items = block.items.map(_.transform {
        case Filter(condition, child) if of(condition).nonEmpty =>
          val left = splitConjunctivePredicates(condition).filterNot(c => own.exists(_ eq c))
          left.reduceOption(And).fold(child)(Filter(_, child))
      }))

  /** The joins in their new order, pruned again; None if a scan that was pruned before would not be. */
  def again(built: LogicalPlan): Option[LogicalPlan] =
    if (own.isEmpty) Some(built)
    else {
      val made = PruneFilters(
        BooleanSimplification(CleanupDynamicPruningFilters(PushDownPredicates(PartitionPruning(built))))
      )
      val now = of(made).collect { case d: DynamicPruningSubquery => d.pruningKey }
      Some(made).filter(_ => own.forall(d => now.exists(_.semanticEquals(d.pruningKey))))
    }
}

private object BlockPruning {
  private def of(plan: LogicalPlan): Seq[DynamicPruning] = plan.flatMap(_.expressions.flatMap(of))

  private def of(e: Expression): Seq[DynamicPruning] = e.collect { case d: DynamicPruning => d }
}

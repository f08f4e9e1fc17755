package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{
  AggregateExpression,
  AggregateFunction,
  DeclarativeAggregate,
  ImperativeAggregate
}
import org.apache.spark.sql.catalyst.optimizer.JoinSelectionHelper
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.springbok.catalyst.SparkPlanning

/**
 * Finds the joins whose parent would have to sort their output by the join's keys: a window, a local sort, an aggregate
 * that cannot hash, a join that the query wants merged. A sort-merge join delivers that order.
 */
private[springbok] object NeededOrder extends JoinSelectionHelper {
  private val tag = TreeNodeTag[Boolean]("springbok.neededOrder")

  def of(j: Join): Boolean = j.getTagValue(tag).contains(true)

  /** Tags all joins of the plan. */
  def mark(plan: LogicalPlan): Unit = mark(plan, Nil)

  private def mark(plan: LogicalPlan, needed: Seq[Expression]): Unit = plan match {
    case w: Window => mark(w.child, w.partitionSpec ++ PredictedPartitioning.ascending(w.orderSpec))
    case s: Sort if !s.global => mark(s.child, PredictedPartitioning.ascending(s.order))
    case a: Aggregate if sortBased(a) => mark(a.child, a.groupingExpressions)
    case f: Filter => mark(f.child, needed)
    case Project(list, child) =>
      val from = AttributeMap(list.collect { case a @ Alias(e, _) => a.toAttribute -> e })
      mark(child, needed.map { case a: Attribute => from.getOrElse(a, a); case e => e })
    case j @ ExtractEquiJoinKeys(joinType, lk, rk, _, _, l, r, hint) =>
      val sorted = joinType match {
        case _: InnerLike => Seq(lk, rk)
        case RightOuter => Seq(rk)
        case FullOuter => Nil
        case _ => Seq(lk)
      }
      val serves = needed.nonEmpty && sorted.exists { keys =>
        needed.size <= keys.size && needed.zip(keys).forall { case (n, k) => n.semanticEquals(k) }
      }
      j.setTagValue(tag, serves)
      val merged = hintToSortMergeJoin(hint)
      mark(l, if (merged) lk else Nil)
      mark(r, if (merged) rk else Nil)
    case other => other.children.foreach(mark(_, Nil))
  }

  private def sortBased(a: Aggregate): Boolean = a.groupingExpressions.nonEmpty && {
    val functions = a.aggregateExpressions.flatMap(_.collect { case e: AggregateExpression => e })
    // Functions of Python have no buffer: their operator sorts by the groups.
    !functions.map(_.aggregateFunction).forall(evaluable) ||
    !SparkPlanning.hashes(a, functions, functions.flatMap(_.aggregateFunction.aggBufferAttributes))
  }

  private def evaluable(f: AggregateFunction): Boolean = f match {
    case _: DeclarativeAggregate | _: ImperativeAggregate => true
    case _ => false
  }
}

package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.expressions.{Alias, AttributeSet, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project}

/**
 * Expressions that may raise an error, and that are computed only for rows with a match while their side of a join is streamed:
 * generated code computes a column of a projection where it is used first. A side that is sent or built computes all of its
 * columns for all of its rows.
 */
object DeferredErrors {

  /**
   * The first such expression of a side.
   *
   * @param used
   *   columns that are computed for all rows in any case, such as the join's keys
   * @param streamed
   *   the side that a join below streams in the same stage, None for any other join
   */
  def in(side: LogicalPlan, used: AttributeSet)(
      streamed: Join => Option[LogicalPlan]
  ): Option[Expression] = side match {
    case Project(list, child) =>
      val (early, late) = list.partition(e => used.contains(e.toAttribute))
      late
        .collectFirst { case Alias(e, _) if e.deterministic && !CannotRaise(e) => e }
        .orElse(in(child, AttributeSet(early.flatMap(_.references)))(streamed))
    case Filter(condition, child) => in(child, used ++ condition.references)(streamed)
    case j: Join => streamed(j).flatMap(in(_, used ++ references(j))(streamed))
    case _ => None
  }

  /** The columns of a join's condition. */
  def references(j: Join): AttributeSet = AttributeSet(j.condition.toSeq.flatMap(_.references))
}

package org.apache.spark.sql.springbok.catalyst

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  AttributeSet,
  Expression,
  IsNotNull,
  NamedExpression,
  PredicateHelper
}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.internal.SQLConf

/**
 * Expressions that may raise an error, and that are computed only for rows with a match while their side of a join is streamed:
 * generated code computes a column of a projection, or of an aggregate's result, where it is used first. A side that is
 * shuffled, broadcast or put into a hash table computes all of its columns for all of its rows.
 */
object DeferredErrors extends PredicateHelper {

  /**
   * The first such expression of a side.
   *
   * @param used
   *   columns that are computed for all rows in any case, such as the join's keys
   * @param streamed
   *   the sides that a join below may stream in the same stage
   */
  def in(side: LogicalPlan, used: AttributeSet)(streamed: Join => Seq[LogicalPlan]): Option[Expression] =
    side match {
      case Project(list, child) =>
        val early = list.filter(e => used.contains(e.toAttribute)).flatMap(_.references)
        raising(list.filterNot(tested(_, child)), used).orElse(in(child, AttributeSet(early))(streamed))
      case a: Aggregate => raising(a.aggregateExpressions, used)
      case Filter(condition, child) => in(child, used ++ condition.references)(streamed)
      case _: Sample | _: LocalLimit => in(side.children.head, used)(streamed)
      case u: Union if unionsPass =>
        def ofBranch(branch: LogicalPlan) = AttributeSet(
          u.output.zip(branch.output).collect { case (all, mine) if used.contains(all) => mine }
        )
        u.children.iterator.flatMap(b => in(b, ofBranch(b))(streamed)).nextOption()
      case j: Join =>
        streamed(j).iterator.flatMap(in(_, used ++ references(j))(streamed)).nextOption()
      case _ => None
    }

  /** Whether a filter below lets only rows pass for which it has computed the column. */
  private def tested(column: NamedExpression, below: LogicalPlan): Boolean = (column, below) match {
    case (Alias(e, _), Filter(condition, _)) =>
      splitConjunctivePredicates(condition).exists {
        case IsNotNull(computed) => computed.semanticEquals(e)
        case _ => false
      }
    case _ => false
  }

  /** Whether generated code of a union's branches goes on above it: a setting of Spark from 4.2 on. */
  private def unionsPass: Boolean =
    Try(SQLConf.get.getConfString("spark.sql.codegen.wholeStage.union.enabled").toBoolean).getOrElse(false)

  /** The columns of a join's condition. */
  def references(j: Join): AttributeSet = AttributeSet(j.condition.toSeq.flatMap(_.references))

  private def raising(list: Seq[NamedExpression], used: AttributeSet): Option[Expression] =
    list.collectFirst {
      case a @ Alias(e, _)
          if !used.contains(a.toAttribute) && e.deterministic && !CannotRaise(aggregated(e)) =>
        e
    }

  /** The value of an aggregate function is there before the result is computed. */
  private def aggregated(e: Expression): Expression = e.transform { case a: AggregateExpression =>
    a.resultAttribute
  }
}

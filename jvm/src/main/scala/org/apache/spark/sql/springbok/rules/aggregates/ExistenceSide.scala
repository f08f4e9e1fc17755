package org.apache.spark.sql.springbok.rules.aggregates

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Max, Min}
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, LeftAnti, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Join, LogicalPlan}
import org.apache.spark.sql.springbok.catalyst.LocalAggregate

/**
 * The right side of a semi, anti or existence join, which asks only whether there is a matching row: of rows that are equal in the
 * condition's columns one suffices.
 *
 * A column that is compared in one conjunct alone, and there by `<>`, `<`, `<=`, `>` or `>=` with columns of the left side, is no key
 * if it is the only one of its kind: a row of a group matches if and only if its smallest or its largest value does. They are null
 * if the group has no value, and then the comparison is null for each of its rows. With `<>` both are compared: if neither
 * differs from the left value, all values of the group are equal to it.
 *
 * @param keys
 *   the condition's columns of the right side, but for the one that is compared
 * @param compared
 *   the conjunct that compares it
 * @param filtering
 *   this join and those above whose runtime filters may remove rows of the other side
 */
final private[aggregates] case class ExistenceSide(
    join: Join,
    keys: Seq[Attribute],
    compared: Option[ExistenceSide.Compared],
    filtering: Seq[Join]
) extends LocalPlace {
  def side: LogicalPlan = join.right
  def passed: Seq[Passed] = Seq(Passed(join, 1, join.outputSet))
  def aggregate: Option[Aggregate] = None
  def computed: Seq[AggregateExpression] = compared.toSeq.flatMap(_.functions)

  def rewritten(retained: Double): Join = {
    val ends = computed.map(f => Alias(f, f.aggregateFunction.prettyName)())
    val local = LocalAggregate(retained, Aggregate(keys, keys ++ ends, side))
    val condition = compared.foldLeft(join.condition)((all, c) =>
      all.map(_.transform { case e if e eq c.conjunct => c.of(ends.map(_.toAttribute)) })
    )
    join.copy(right = local, condition = condition)
  }
}

private[aggregates] object ExistenceSide extends PredicateHelper {

  /** A conjunct that compares a column, and what stands for the column: its smallest value, its largest one, or both. */
  final case class Compared(conjunct: Expression, column: Attribute, functions: Seq[AggregateExpression]) {

    /** The conjunct of the functions' values. */
    def of(values: Seq[Attribute]): Expression =
      values
        .map(v => conjunct.transform { case a: Attribute if a.exprId == column.exprId => v })
        .reduce(Or(_, _))
  }

  /** Whether a child of an operator is such a side. */
  def is(p: LogicalPlan, child: Int): Boolean = p match {
    case Join(_, _, LeftSemi | LeftAnti | _: ExistenceJoin, _, _) => child == 1
    case _ => false
  }

  def of(j: Join, filtering: Seq[Join]): Option[ExistenceSide] = for {
    condition <- j.condition if is(j, 1) && condition.deterministic
    conjuncts = splitConjunctivePredicates(condition)
    found = conjuncts.flatMap(compared(_, j)).find { c =>
      !conjuncts.exists(other => !(other eq c.conjunct) && other.references.contains(c.column))
    }
    keys = j.right.output.filter(a => condition.references.contains(a) && !found.exists(_.column == a))
    side = ExistenceSide(j, keys, found, filtering) if side.isPossible
  } yield side

  private def compared(conjunct: Expression, j: Join): Option[Compared] = {
    def isColumn(a: Attribute, other: Expression) = j.right.outputSet.contains(a) &&
      SplitAggregate.isExact(a.dataType) && UnsafeRow.isMutable(a.dataType) &&
      other.references.subsetOf(j.left.outputSet)
    val operands = conjunct match {
      case Not(e: EqualTo) => e.children
      case other => other.children
    }
    val column = operands match {
      case Seq(a: Attribute, l) if isColumn(a, l) => Some(a)
      case Seq(l, a: Attribute) if isColumn(a, l) => Some(a)
      case _ => None
    }
    column.flatMap { a =>
      val isFirst = operands.head eq a
      val ends = conjunct match {
        case Not(_: EqualTo) => Seq(Min(a), Max(a))
        case _: LessThan | _: LessThanOrEqual => Seq(if (isFirst) Min(a) else Max(a))
        case _: GreaterThan | _: GreaterThanOrEqual => Seq(if (isFirst) Max(a) else Min(a))
        case _ => Nil
      }
      Option.when(ends.nonEmpty)(Compared(conjunct, a, ends.map(_.toAggregateExpression())))
    }
  }
}

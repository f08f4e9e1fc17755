package org.apache.spark.sql.springbok.rules.aggregates

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{Max, Min}
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, LeftAnti, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Join, LogicalPlan}
import org.apache.spark.sql.springbok.catalyst.{DeferredErrors, LocalAggregate}

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

  def rewritten(retained: Double): Join = {
    val ends = compared.toSeq.flatMap(_.ends)
    val local = LocalAggregate(retained, Aggregate(keys, keys ++ ends, side))
    val condition = compared.foldLeft(join.condition)((all, c) =>
      all.map(_.transform { case e if e eq c.conjunct => c.ofEnds })
    )
    join.copy(right = local, condition = condition)
  }
}

private[aggregates] object ExistenceSide extends PredicateHelper {

  /** A conjunct that compares a column, and the same of the smallest and the largest value. */
  final case class Compared(conjunct: Expression, column: Attribute, ends: Seq[Alias], ofEnds: Expression)

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
    if keys.nonEmpty && keys.forall(k => SplitAggregate.isExact(k.dataType)) && isPossible(j.right)
  } yield ExistenceSide(j, keys, found, filtering)

  private def isPossible(p: LogicalPlan): Boolean =
    !p.isInstanceOf[LocalAggregate] && DeferredErrors.in(p, AttributeSet.empty)(_.children).isEmpty

  private def compared(conjunct: Expression, j: Join): Option[Compared] = {
    def isColumn(a: Attribute) = j.right.outputSet.contains(a) && SplitAggregate.isExact(a.dataType) &&
      UnsafeRow.isMutable(a.dataType)
    def isOfLeft(e: Expression) = e.references.subsetOf(j.left.outputSet)
    def of(a: Attribute, smallest: Boolean, largest: Boolean)(test: Attribute => Expression) = {
      val ends = Seq(Min(a) -> smallest, Max(a) -> largest).collect { case (f, true) =>
        Alias(f.toAggregateExpression(), f.prettyName)()
      }
      Compared(conjunct, a, ends, ends.map(e => test(e.toAttribute)).reduce(Or(_, _)))
    }
    conjunct match {
      case Not(EqualTo(l, a: Attribute)) if isColumn(a) && isOfLeft(l) =>
        Some(of(a, smallest = true, largest = true)(x => Not(EqualTo(l, x))))
      case Not(EqualTo(a: Attribute, l)) if isColumn(a) && isOfLeft(l) =>
        Some(of(a, smallest = true, largest = true)(x => Not(EqualTo(x, l))))
      case b: BinaryComparison =>
        ordered(b, isColumn, isOfLeft).map { case (a, smallest) =>
          of(a, smallest, !smallest)(x => b.withNewChildren(b.children.map(e => if (e eq a) x else e)))
        }
      case _ => None
    }
  }

  /** The column that is compared, and whether a row matches if the one with the smallest value does. */
  private def ordered(
      b: BinaryComparison,
      isColumn: Attribute => Boolean,
      isOfLeft: Expression => Boolean
  ): Option[(Attribute, Boolean)] = (b, b.left, b.right) match {
    case (_: LessThan | _: LessThanOrEqual, a: Attribute, l) if isColumn(a) && isOfLeft(l) => Some(a -> true)
    case (_: LessThan | _: LessThanOrEqual, l, a: Attribute) if isColumn(a) && isOfLeft(l) => Some(a -> false)
    case (_: GreaterThan | _: GreaterThanOrEqual, a: Attribute, l) if isColumn(a) && isOfLeft(l) =>
      Some(a -> false)
    case (_: GreaterThan | _: GreaterThanOrEqual, l, a: Attribute) if isColumn(a) && isOfLeft(l) =>
      Some(a -> true)
    case _ => None
  }
}

package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.springbok.catalyst.{JoinSide, Sides}
import org.apache.spark.sql.springbok.keys.{Comparison, FilterKey, KeyType}
import org.apache.spark.sql.springbok.record.JoinState

/**
 * A conjunct of a join's condition that a filter may be made of: an equality of the two sides, or a comparison that bounds
 * the application side's value by the creation side's values.
 *
 * @param index
 *   its number in its join, which all plannings of the query agree on
 * @param creation
 *   the value on the creation side
 * @param application
 *   the value on the application side
 * @param range
 *   None for an equality
 * @param from
 *   the exchange in the join's own stage that `creation` is read from, None if the creation side is itself an exchange
 */
final private[springbok] case class FilterConjunct(
    index: Int,
    creation: Expression,
    application: Expression,
    range: Option[Comparison] = None,
    from: Option[SparkPlan] = None
)

private[springbok] object FilterConjunct extends PredicateHelper {

  /** The conjuncts of a join whose filters are made from this side. */
  def of(j: BaseJoinExec, creation: JoinSide): Seq[FilterConjunct] = {
    val keys = Sides.keys(j)
    val equal = keys(creation).zip(keys(creation.other)).map { case (c, a) => FilterConjunct(0, c, a) }
    (equal ++ ranges(j, creation)).zipWithIndex.map { case (on, at) =>
      on.copy(index = JoinState.of(j).fold(at)(number(_, creation, on)))
    }
  }

  /** Not its position: Spark puts the keys of a shuffled join into the order of its inputs' partitioning. */
  private def number(state: JoinState, creation: JoinSide, on: FilterConjunct): Int = {
    val values = Sides(on.application, on.application).updated(creation, on.creation)
    state.numberOf(values, if (creation == JoinSide.Left) on.range else on.range.map(_.turned))
  }

  /**
   * The comparisons of one side with the other. A row that satisfies one of them for no row of the creation side has no
   * match, whatever the other conjuncts are. In a condition that is not deterministic, they would be evaluated on other rows.
   */
  def ranges(j: BaseJoinExec, creation: JoinSide): Seq[FilterConjunct] =
    j.condition.filter(_.deterministic).toSeq.flatMap(splitConjunctivePredicates).flatMap {
      case LessThan(a, b) => oriented(j, creation, a, b, Comparison(below = true, orEqual = false))
      case LessThanOrEqual(a, b) => oriented(j, creation, a, b, Comparison(below = true, orEqual = true))
      case GreaterThan(a, b) => oriented(j, creation, a, b, Comparison(below = false, orEqual = false))
      case GreaterThanOrEqual(a, b) => oriented(j, creation, a, b, Comparison(below = false, orEqual = true))
      case _ => None
    }

  private def oriented(j: BaseJoinExec, creation: JoinSide, a: Expression, b: Expression, c: Comparison) = {
    val output = Sides.children(j).map(_.outputSet)
    // The creation side's value is computed for rows that no row of the application side may ever be compared with.
    def usable(application: Expression, made: Expression) =
      application.references.subsetOf(output(creation.other)) && made.references.subsetOf(output(creation)) &&
        FilterKey.atScan(application).isDefined && FilterKey.admissible(made) &&
        KeyType.supported(application.dataType) && application.dataType == made.dataType
    if (usable(a, b)) Some(FilterConjunct(0, b, a, Some(c)))
    else if (usable(b, a)) Some(FilterConjunct(0, a, b, Some(c.turned)))
    else None
  }
}

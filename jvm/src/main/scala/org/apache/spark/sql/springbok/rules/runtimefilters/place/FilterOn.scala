package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.springbok.keys.{Comparison, FilterKey, KeyType}

/**
 * A conjunct of a join's condition that a filter may be made of: `build = probe`, or one that bounds the probe side's
 * value by the build side's values.
 *
 * @param index
 *   its number, those of the equi-join keys first
 * @param range
 *   None for an equality
 * @param from
 *   the exchange in the join's own stage that `build` is read from, None where the build side comes straight out of one
 */
final private[springbok] case class FilterOn(
    index: Int,
    build: Expression,
    probe: Expression,
    range: Option[Comparison] = None,
    from: Option[SparkPlan] = None
)

private[springbok] object FilterOn extends PredicateHelper {

  def of(j: BaseJoinExec, d: Direction): Seq[FilterOn] = {
    val (from, to) = if (d.source == 0) (j.leftKeys, j.rightKeys) else (j.rightKeys, j.leftKeys)
    val equal = from.zip(to).zipWithIndex.map { case ((b, p), i) => FilterOn(i, b, p) }
    equal ++ ranges(j, d).zipWithIndex.map { case (r, i) => r.copy(index = from.size + i) }
  }

  /**
   * The comparisons of one side with the other. A row that satisfies one of them for no row of the build side has no
   * match, whatever the other conjuncts are; but one that is not deterministic would see other rows.
   */
  def ranges(j: BaseJoinExec, d: Direction): Seq[FilterOn] =
    j.condition.filter(_.deterministic).toSeq.flatMap(splitConjunctivePredicates).flatMap {
      case LessThan(a, b) => oriented(j, d, a, b, Comparison(below = true, orEqual = false))
      case LessThanOrEqual(a, b) => oriented(j, d, a, b, Comparison(below = true, orEqual = true))
      case GreaterThan(a, b) => oriented(j, d, a, b, Comparison(below = false, orEqual = false))
      case GreaterThanOrEqual(a, b) => oriented(j, d, a, b, Comparison(below = false, orEqual = true))
      case _ => None
    }

  private def oriented(j: BaseJoinExec, d: Direction, a: Expression, b: Expression, c: Comparison) = {
    val (build, probe) = (j.children(d.source).outputSet, j.children(1 - d.source).outputSet)
    // The build side's value is computed for rows that no probe row may ever be compared with.
    def usable(p: Expression, b: Expression) =
      p.references.subsetOf(probe) && b.references.subsetOf(build) && FilterKey.admissible(p) &&
        FilterKey.admissible(b) && KeyType.supported(p.dataType) && p.dataType == b.dataType
    if (usable(a, b)) Some(FilterOn(0, b, a, Some(c)))
    else if (usable(b, a)) Some(FilterOn(0, a, b, Some(c.turned)))
    else None
  }
}

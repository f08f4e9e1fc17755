package org.apache.spark.sql.springbok.keys

import org.apache.spark.sql.catalyst.expressions._

/**
 * `probe < build` and its kin.
 *
 * @param below
 *   whether the probe side's value has to be below a value of the build side, and so below the largest, else above
 * @param orEqual
 *   whether it may be equal to it
 */
final case class Comparison(below: Boolean, orEqual: Boolean) {
  def kind: String = if (below) "max" else "min"

  /** The same with its sides exchanged. */
  def turned: Comparison = copy(below = !below)

  def predicate(probe: Expression, bound: Expression): Expression = (below, orEqual) match {
    case (true, true) => LessThanOrEqual(probe, bound)
    case (true, false) => LessThan(probe, bound)
    case (false, true) => GreaterThanOrEqual(probe, bound)
    case (false, false) => GreaterThan(probe, bound)
  }

  /** Whether no value from `min` to `max` has a match. */
  def refuses(min: Double, max: Double, bound: Double): Boolean = (below, orEqual) match {
    case (true, true) => min > bound
    case (true, false) => min >= bound
    case (false, true) => max < bound
    case (false, false) => max <= bound
  }
}

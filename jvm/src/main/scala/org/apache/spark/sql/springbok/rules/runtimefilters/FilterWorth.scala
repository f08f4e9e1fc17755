package org.apache.spark.sql.springbok.rules.runtimefilters

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.springbok.FilterInfo
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.cost.{ChoicePolicy, FilterCost}
import org.apache.spark.sql.springbok.keys.FilterKey

/**
 * Whether a filter is worth its tests. One that the query hints at, or that a test forces, is applied regardless.
 *
 * @param key
 *   the key at the scan
 */
final private[springbok] class FilterWorth(val info: FilterInfo, key: Expression, conf: SQLConf) {
  val regardless: Boolean = info.hinted || ChoicePolicy.of(conf).ignoresCost

  /** Time in ns for a test of the filter and for the key that it tests. */
  def testNs(ofKey: Double): Double = ofKey + FilterKey.triedNs(key)

  /** The fraction of rows that is expected to pass, by the build side's keys if they tell. */
  def expected(observed: Option[Double]): Double =
    observed.orElse(info.record.expectedRetained).getOrElse(FilterCost.unknownRetained)

  def retainsTooMuch(retained: Double): Boolean = retained > 1 - info.minRejection && !regardless

  def pays(retained: Double, savedNs: Double, testNs: Double): Boolean =
    regardless || FilterCost.pays(retained, savedNs, testNs)
}

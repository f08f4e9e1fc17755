package org.apache.spark.sql.springbok.rules.runtimefilters

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.cost.{ChoicePolicy, CostConstants, FilterCost}
import org.apache.spark.sql.springbok.keys.FilterKey
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{BuildFacts, FilterEffect, RuntimeFilter}

/** What is decided about a placed filter once its build side has finished. */
sealed private[springbok] trait Verdict {

  /** What was learned of the build side. */
  def found: BuildFacts
}

private[springbok] object Verdict {

  /** It passes every row. */
  final case class Decline(why: Reason, found: BuildFacts = BuildFacts.unknown) extends Verdict

  /**
   * It is pushed to the scan, or tested row by row, or both.
   *
   * @param pushed
   *   what the scan is told, or why it is told nothing
   */
  final case class Apply(pushed: Either[Reason, PushedFilter], row: Option[RowTest], found: BuildFacts)
      extends Verdict {
    def kinds: Seq[String] = (pushed.toSeq.flatMap(_.kinds) ++ row.map(_.kind)).distinct

    def effect: FilterEffect = FilterEffect(
      bytes = row.flatMap(_.keySet).map(_.bytes),
      falsePositiveRate = row.flatMap(_.keySet).map(_.falsePositiveRate),
      rowGroups = pushed.toOption.flatMap(_.rowGroups),
      pushed = Some(pushed.map(_.way.name))
    )
  }
}

/**
 * Whether a filter is worth its tests. One that the query hints at, or that a test forces, is applied regardless.
 *
 * @param key
 *   the key at the scan
 */
final private[springbok] class FilterWorth(val filter: RuntimeFilter, key: Expression, conf: SQLConf) {
  val regardless: Boolean = filter.hinted || ChoicePolicy.of(conf).ignoresCost

  /** Time in ns for a test of the filter and for the key that it tests. */
  def testNs(ofKey: Double): Double = ofKey + FilterKey.triedNs(key)

  /** The fraction of rows that is expected to pass, by the build side's keys if they tell. */
  def expected(observed: Option[Double]): Double =
    observed.orElse(filter.expectedRetained).getOrElse(CostConstants.unknownRetained)

  def retainsTooMuch(retained: Double): Boolean = retained > 1 - filter.minRejection && !regardless

  def pays(retained: Double, savedNs: Double, testNs: Double): Boolean =
    regardless || FilterCost.pays(retained, savedNs, testNs)
}

package org.apache.spark.sql.springbok.record

/**
 * What was learned of a filter's build side when it had finished.
 *
 * @param retained
 *   the fraction of the probe side's rows that passes by these numbers
 * @param waitedMs
 *   time in ms from the start of the build side's stage to the decision
 */
final case class BuildFacts(
    rows: Option[Long] = None,
    keys: Option[Long] = None,
    retained: Option[Double] = None,
    waitedMs: Option[Long] = None
)

object BuildFacts {
  val unknown: BuildFacts = BuildFacts()
}

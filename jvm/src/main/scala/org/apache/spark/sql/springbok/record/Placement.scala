package org.apache.spark.sql.springbok.record

/**
 * A filter's place in the plan.
 *
 * @param number
 *   counts the filters of a query, as in Impala
 * @param expectedRetained
 *   the fraction of the probe side's rows that is expected to pass, None if unknown
 * @param waiting
 *   whether its scan waits, by the costs
 */
final case class Placement(
    number: Int,
    expectedRetained: Option[Double],
    timing: FilterTiming = FilterTiming.Waits,
    waiting: Option[ScanWait] = None
)

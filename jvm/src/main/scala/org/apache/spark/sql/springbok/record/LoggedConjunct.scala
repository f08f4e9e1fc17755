package org.apache.spark.sql.springbok.record

/**
 * A conjunct whose place was considered.
 *
 * @param cost
 *   ns per row
 * @param selectivity
 *   the fraction of the rows that pass, None if unknown
 */
final case class LoggedConjunct(
    condition: String,
    cost: Double,
    selectivity: Option[Double],
    mayRaise: Boolean
)

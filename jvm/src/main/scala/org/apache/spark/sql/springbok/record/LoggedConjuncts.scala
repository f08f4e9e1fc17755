package org.apache.spark.sql.springbok.record

/**
 * The conjuncts of a filter or join whose order was considered, as they stand now.
 *
 * @param before,
 *   after expected ns per row in Spark's order and in this one
 */
final case class LoggedConjuncts(
    operator: String,
    changed: Boolean,
    before: Double,
    after: Double,
    order: Seq[LoggedConjunct]
)

/**
 * One of these conjuncts.
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

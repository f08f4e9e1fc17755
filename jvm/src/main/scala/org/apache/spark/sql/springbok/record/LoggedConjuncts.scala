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

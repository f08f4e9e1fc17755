package org.apache.spark.sql.springbok.record

import org.apache.spark.sql.springbok.reason.Reason

/**
 * A join order that was considered.
 *
 * @param before,
 *   after the query's order and the one that replaced it, as `lineitem, (orders, customer)`
 * @param best
 *   the best order found, where the query's own stays
 * @param costBefore,
 *   costAfter expected ms of one core for the query's order and for the best one found
 */
final case class LoggedOrder(
    relations: Int,
    before: String,
    after: Option[String],
    best: Option[String],
    costBefore: Option[Double],
    costAfter: Option[Double],
    reason: Reason
)

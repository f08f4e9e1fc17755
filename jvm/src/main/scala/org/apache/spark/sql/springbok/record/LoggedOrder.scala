package org.apache.spark.sql.springbok.record

import org.apache.spark.sql.springbok.reason.Reason

/**
 * A join order that was considered.
 *
 * @param before,
 *   after the query's order and the one that replaced it, as `lineitem, (orders, customer)`
 * @param costBefore,
 *   costAfter expected ms of one core for the query's order and for the best one found
 */
final case class LoggedOrder(
    relations: Int,
    before: String,
    after: Option[String],
    costBefore: Option[Double],
    costAfter: Option[Double],
    reason: Reason
)

package org.apache.spark.sql.springbok.report.model

@describe("An order of joins that was considered; ms of one core.")
final case class JoinOrderEntry(
    relations: Int,
    before: String,
    after: Option[String],
    costBeforeMs: Option[Double],
    costAfterMs: Option[Double],
    reason: ReasonEntry
)

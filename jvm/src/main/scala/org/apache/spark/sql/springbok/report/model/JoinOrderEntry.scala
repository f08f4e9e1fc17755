package org.apache.spark.sql.springbok.report.model

@describe(
  "An order of joins that was considered; best is the cheapest one found where the query's own stays; ms of one core."
)
final case class JoinOrderEntry(
    relations: Int,
    before: String,
    after: Option[String],
    best: Option[String],
    costBeforeMs: Option[Double],
    costAfterMs: Option[Double],
    reason: ReasonEntry
)

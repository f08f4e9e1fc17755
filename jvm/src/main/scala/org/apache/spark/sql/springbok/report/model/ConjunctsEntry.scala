package org.apache.spark.sql.springbok.report.model

@describe("The conjuncts of a filter or join in their order; costs in ns a row.")
final case class ConjunctsEntry(
    operator: String,
    changed: Boolean,
    costBefore: Double,
    costAfter: Double,
    order: Seq[ConjunctEntry]
)

final case class ConjunctEntry(
    condition: String,
    cost: Double,
    @atMost(1) selectivity: Option[Double],
    mayRaise: Boolean
)

package org.apache.spark.sql.springbok.record

import org.apache.spark.sql.springbok.cost.{JoinChoice, JoinInput}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.stats.estimate.Source

/**
 * What one planning decided about a join.
 *
 * @param input
 *   what the choice was made from, None if the join was left to Spark without one
 * @param leftSource,
 *   rightSource where the number of rows of each side comes from
 * @param notes
 *   hints of the query and statistics of its tables that were ignored
 */
final case class JoinDecision(
    choice: JoinChoice,
    input: Option[JoinInput],
    leftSource: Option[Source],
    rightSource: Option[Source],
    notes: Seq[Reason] = Nil
)

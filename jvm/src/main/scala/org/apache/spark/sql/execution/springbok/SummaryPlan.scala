package org.apache.spark.sql.execution.springbok

import org.apache.spark.sql.springbok.keys.BuildKey

/**
 * What a build side's keys are summarized for.
 *
 * @param labels
 *   `RF000 <- c_custkey`, for EXPLAIN
 * @param keys
 *   the keys with the size of their bloom filter in bytes; none where the summary is read elsewhere, as from a broadcast
 * @param mergeBytes,
 *   taskBytes most bytes of bloom filters that all tasks together send, and that one task fills
 */
final case class SummaryPlan(
    labels: Seq[String],
    keys: Seq[(BuildKey, Long)],
    inLimit: Int,
    mergeBytes: Long,
    taskBytes: Long
) {

  /** With what another one of the same exchange asks for. */
  def +(other: SummaryPlan): SummaryPlan =
    copy(labels = labels ++ other.labels, keys = SummaryPlan.once(keys ++ other.keys))
}

object SummaryPlan {

  /** Each key once, with the largest bloom filter that is asked for. */
  def once(keys: Seq[(BuildKey, Long)]): Seq[(BuildKey, Long)] =
    keys.groupMapReduce(_._1)(_._2)(math.max(_, _)).toSeq
}

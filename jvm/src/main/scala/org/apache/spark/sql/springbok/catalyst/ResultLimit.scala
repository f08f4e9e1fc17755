package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.SparkConf
import org.apache.spark.internal.config.MAX_RESULT_SIZE

/** The limit of what the driver collects of one job: a result, or the rows of a broadcast with the summaries of its keys. */
object ResultLimit {

  /** In bytes. Spark's 0 is no limit. */
  def bytes(spark: SparkConf): Long =
    Option(spark.get(MAX_RESULT_SIZE)).filter(_ > 0).getOrElse(Long.MaxValue)
}

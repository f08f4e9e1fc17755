package org.apache.spark.sql.springbok

import org.apache.spark.sql.types.{DataType, StringType}
import org.apache.spark.util.AccumulatorV2

/** What the tests ask of Spark, where versions differ. */
object SparkFeatures {

  /** A string type that compares other than by bytes. */
  val collated: Option[DataType] = Some(StringType("UTF8_LCASE"))

  /** Whether the accumulator is not sent with heartbeats. */
  def staysOutOfHeartbeats(a: AccumulatorV2[_, _]): Boolean = a.excludeFromHeartbeat
}

package org.apache.spark.sql.springbok

import org.apache.spark.sql.types.DataType
import org.apache.spark.util.AccumulatorV2

/** What the tests ask of Spark, where versions differ. */
object SparkFeatures {

  /** A string type that compares other than by bytes: this version has none. */
  val collated: Option[DataType] = None

  /** Whether the accumulator is not sent with heartbeats: this version sends all. */
  def staysOutOfHeartbeats(a: AccumulatorV2[_, _]): Boolean = true
}

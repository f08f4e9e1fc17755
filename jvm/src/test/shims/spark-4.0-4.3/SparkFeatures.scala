package org.apache.spark.sql.springbok

import org.apache.spark.sql.types.{DataType, StringType}
import org.apache.spark.util.AccumulatorV2

/** What the tests ask of Spark, where versions differ. */
object SparkFeatures {

  /** A string type that compares other than by bytes. */
  val collated: Option[DataType] = Some(StringType("UTF8_LCASE"))

  /** The clause that gives a string a collation. */
  def collate(name: String): String = s"COLLATE $name"

  /** Whether a file's decimals are read as decimals of more digits. */
  val readsWiderDecimals: Boolean = true

  /** Whether a scan of a connector takes runtime filters that are no lists. */
  val connectorsTakeRanges: Boolean = true

  val variants: Boolean = true

  /** Whether EXPLAIN has sections of extensions. */
  val explainSections: Boolean = true

  /** Whether the accumulator is not sent with heartbeats. */
  def staysOutOfHeartbeats(a: AccumulatorV2[_, _]): Boolean = a.excludeFromHeartbeat
}

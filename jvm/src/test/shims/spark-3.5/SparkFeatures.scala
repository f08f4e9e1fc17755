package org.apache.spark.sql.springbok

import org.apache.spark.sql.types.DataType
import org.apache.spark.util.AccumulatorV2

/** What the tests ask of Spark, where versions differ. */
object SparkFeatures {

  /** A string type that compares other than by bytes: this version has none. */
  val collated: Option[DataType] = None

  /** The clause that gives a string a collation, which this version has not. */
  def collate(name: String): String = ""

  /** Whether a file's decimals are read as decimals of more digits. */
  val readsWiderDecimals: Boolean = false

  val variants: Boolean = false

  /** Whether EXPLAIN has sections of extensions. */
  val explainSections: Boolean = false

  /** Whether the accumulator is not sent with heartbeats: this version sends all. */
  def staysOutOfHeartbeats(a: AccumulatorV2[_, _]): Boolean = true
}

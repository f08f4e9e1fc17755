package org.apache.spark.sql.springbok

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.types.{DataType, StringType}
import org.apache.spark.util.AccumulatorV2

/** What the tests ask of Spark, where versions differ. */
object SparkFeatures {

  /** A string type that compares other than by bytes. */
  val collated: Option[DataType] = Some(StringType("UTF8_LCASE"))

  /** The clause that gives a string a collation. Spark 4.0 has none that trims. */
  def collate(name: String): String =
    if (SPARK_VERSION.startsWith("4.0.") && name.endsWith("RTRIM")) "" else s"COLLATE $name"

  /** Whether a file's decimals are read as decimals of more digits. */
  val readsWiderDecimals: Boolean = true

  val variants: Boolean = true

  /** Whether EXPLAIN has sections of extensions. */
  val explainSections: Boolean = true

  /** Whether the accumulator is not sent with heartbeats. */
  def staysOutOfHeartbeats(a: AccumulatorV2[_, _]): Boolean = a.excludeFromHeartbeat
}

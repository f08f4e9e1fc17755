package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.types.{DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/** Types and expressions that not all versions of Spark have: this one knows no variants, collations or single joins. */
object SparkTypes {
  def isVariant(t: DataType): Boolean = false
  def isCollationKey(e: Expression): Boolean = false
  def isListAgg(e: Expression): Boolean = false
  def isSingleJoin(t: JoinType): Boolean = false

  /** Whether equal values have equal bytes. */
  def isBinaryStable(t: DataType): Boolean = true

  /** Whether strings are equal if their bytes are. */
  def equalByBytes(t: StringType): Boolean = true

  /** Whether the bytes are UTF-8: else decoding and encoding them gives others. */
  def isValid(s: UTF8String): Boolean = UTF8String.fromString(s.toString) == s

  /** Whether a connector's columns say by their metadata what rows have that were written before the column was added. */
  val tellsDefaults: Boolean = false
}

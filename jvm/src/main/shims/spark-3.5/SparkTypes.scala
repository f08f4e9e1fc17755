package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.types.{DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/** Types and expressions that not all versions of Spark have: this one knows no variants, collations or single joins. */
object SparkTypes {
  def isVariant(t: DataType): Boolean = known(t)
  def isCollationKey(e: Expression): Boolean = known(e)
  def isListAgg(e: Expression): Boolean = known(e)
  def isSingleJoin(t: JoinType): Boolean = known(t)

  /** Whether equal values have equal bytes. */
  def isBinaryStable(t: DataType): Boolean = !known(t)

  /** Whether strings are equal if their bytes are. */
  def equalByBytes(t: StringType): Boolean = !known(t)

  /** Whether the bytes are UTF-8: else decoding and encoding them gives others. */
  def isValid(s: UTF8String): Boolean = UTF8String.fromString(s.toString) == s

  private def known(x: AnyRef): Boolean = x == null
}

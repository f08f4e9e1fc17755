package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.expressions.{CollationKey, Expression}
import org.apache.spark.sql.catalyst.expressions.aggregate.ListAgg
import org.apache.spark.sql.catalyst.plans.{JoinType, LeftSingle}
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils
import org.apache.spark.sql.types.{DataType, StringType, VariantType}
import org.apache.spark.unsafe.types.UTF8String

/** Types and expressions that not all versions of Spark have. */
object SparkTypes {
  def isVariant(t: DataType): Boolean = t == VariantType
  def isCollationKey(e: Expression): Boolean = e.isInstanceOf[CollationKey]
  def isListAgg(e: Expression): Boolean = e.isInstanceOf[ListAgg]
  def isSingleJoin(t: JoinType): Boolean = t == LeftSingle

  /** Whether equal values have equal bytes. */
  def isBinaryStable(t: DataType): Boolean = UnsafeRowUtils.isBinaryStable(t)

  /** Whether strings are equal if their bytes are. */
  def equalByBytes(t: StringType): Boolean = t.supportsBinaryEquality

  def isValid(s: UTF8String): Boolean = s.isValid

  /** Whether a connector's columns say by their metadata what rows have that were written before the column was added. */
  val tellsDefaults: Boolean = true
}

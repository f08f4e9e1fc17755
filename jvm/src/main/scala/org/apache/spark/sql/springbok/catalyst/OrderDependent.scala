package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.expressions.{Expression, UserDefinedExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate._

/** Expressions whose value may depend on the order of the rows. Spark calls some of them deterministic. */
object OrderDependent {
  def apply(e: Expression): Boolean = e.exists {
    case _: First | _: Last | _: Collect[?] | _: MaxMinBy | _: Mode => true
    case f: AggregateFunction =>
      f.isInstanceOf[UserDefinedExpression] || SparkTypes.isListAgg(f) || !f.deterministic
    case other => !other.deterministic
  }
}

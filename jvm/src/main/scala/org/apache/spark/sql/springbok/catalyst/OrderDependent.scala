package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.expressions.{Expression, UserDefinedExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate._

/** Expressions whose value may depend on the order of the rows. Spark calls some of them deterministic. */
object OrderDependent {
  def apply(e: Expression): Boolean = e.exists {
    case _: First | _: Last | _: Collect[?] | _: MaxMinBy | _: Mode => true
    case f: AggregateFunction =>
      isForeign(f) || ofRows(f.prettyName) || SparkTypes.isListAgg(f) || !f.deterministic
    case other => !other.deterministic
  }

  /** Whether the code is a user's or a connector's. */
  private def isForeign(f: AggregateFunction): Boolean =
    f.isInstanceOf[UserDefinedExpression] || f.isInstanceOf[V2Aggregator[?, ?]]

  /** With a number of rows to keep, they have classes of their own from Spark 4.2 on. */
  private val ofRows = Set("max_by", "min_by")
}

package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.expressions.UnaryExpression

/** An expression that is null for null. */
trait NullOnNull extends UnaryExpression {
  override def nullIntolerant: Boolean = true
}

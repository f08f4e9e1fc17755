package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.expressions.UnaryExpression
import org.apache.spark.util.AccumulatorV2

/** An expression that is null for null. */
trait NullOnNull extends UnaryExpression {
  override def nullIntolerant: Boolean = true
}

/** An accumulator that tasks send once, when they succeed. */
abstract class SentOnce[In, Out] extends AccumulatorV2[In, Out] {
  override def excludeFromHeartbeat: Boolean = true
}

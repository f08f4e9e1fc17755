package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.expressions.{NullIntolerant, UnaryExpression}
import org.apache.spark.util.AccumulatorV2

/** An expression that is null for null. */
trait NullOnNull extends UnaryExpression with NullIntolerant

/** An accumulator. This version sends all of them with the heartbeats as well. */
abstract class SentOnce[In, Out] extends AccumulatorV2[In, Out]

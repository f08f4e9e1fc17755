package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.util.AccumulatorV2

/** An accumulator that tasks send once, when they succeed. */
abstract class SentOnce[In, Out] extends AccumulatorV2[In, Out] {
  override def excludeFromHeartbeat: Boolean = true
}

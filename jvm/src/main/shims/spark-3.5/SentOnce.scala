package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.util.AccumulatorV2

/** An accumulator. This version sends all of them with the heartbeats as well. */
abstract class SentOnce[In, Out] extends AccumulatorV2[In, Out]

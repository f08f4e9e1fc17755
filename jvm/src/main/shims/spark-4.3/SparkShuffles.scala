package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.SparkEnv
import org.apache.spark.shuffle.sort.SortShuffleManager

/** The shuffle manager, where versions of Spark differ. */
object SparkShuffles {

  /** Whether shuffles are written by Spark's own manager. */
  def sorted: Boolean = SparkEnv.get.blockingShuffleManager.isInstanceOf[SortShuffleManager]
}

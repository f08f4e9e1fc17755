package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.internal.SQLConf

/** Limits of Spark itself. */
object SparkLimits {

  /** Bytes above which Spark refuses to broadcast. */
  def broadcastBytes(conf: SQLConf): Long = conf.maxBroadcastTableSizeInBytes
}

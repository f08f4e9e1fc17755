package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.internal.SQLConf

/** Limits of Spark itself. */
object SparkLimits {

  /** Bytes above which Spark refuses to broadcast: no setting of these versions. */
  def broadcastBytes(conf: SQLConf): Long = BroadcastExchangeExec.MAX_BROADCAST_TABLE_BYTES
}

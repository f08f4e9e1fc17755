package org.apache.spark.sql.springbok.filter

import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.types.LongType

class KeySummarySuite extends SpringbokTest {
  private def summary: KeySummary = new KeySummary(Seq(LongType -> 1024L), 10, Long.MaxValue)

  test("a summary that listeners print does not print itself for ever, and stays out of heartbeats") {
    val registered = summary
    spark.sparkContext.register(registered)
    for (s <- Seq(summary, registered)) assert(s.toString.contains("1 keys, 0 partitions"))
    assert(registered.excludeFromHeartbeat)
  }
}

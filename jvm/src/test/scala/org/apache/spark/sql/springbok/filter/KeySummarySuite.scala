package org.apache.spark.sql.springbok.filter

import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.cost.Cluster
import org.apache.spark.sql.types.LongType

class KeySummarySuite extends SpringbokTest {
  private def summary: KeySummary = new KeySummary(Seq(LongType -> 1024L), 10, Long.MaxValue)

  test("a summary that listeners print does not print itself for ever, and stays out of heartbeats") {
    val registered = summary
    spark.sparkContext.register(registered)
    for (s <- Seq(summary, registered)) assert(s.toString.contains("1 keys, 0 partitions"))
    assert(registered.excludeFromHeartbeat)
  }

  test("the keys of a stage share the bytes that may be merged, which the driver's heap bounds as well") {
    val two = new KeySummary(Seq.fill(2)(LongType -> 1024L), 10, mergeBytes = 1500)
    assert(two.begin(0).map(_.bloomBytes).toSeq == Seq(1024L, 0L))
    val cluster = Cluster(1, 1, executorHeap = 1L << 40, driverHeap = 1L << 30, shufflePartitions = 1)
    assert(cluster.mergeLimit(256L << 20) < (32L << 20) && cluster.mergeLimit(100) == 100)
  }
}

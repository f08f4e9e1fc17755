package org.apache.spark.sql.springbok.keys

import org.apache.spark.sql.springbok.{SparkFeatures, SpringbokTest}
import org.apache.spark.sql.springbok.cost.Cluster
import org.apache.spark.sql.types.{LongType, StringType}
import org.apache.spark.unsafe.types.UTF8String

class KeySummarySuite extends SpringbokTest {
  private def summary: KeySummary = new KeySummary(Seq(LongType -> 1024L), 10, Long.MaxValue, Long.MaxValue)

  // A summary once printed itself without end, which could end the application when a heartbeat's
  // accumulators were printed. Summaries of megabytes were also part of heartbeats.
  test("a summary that listeners print does not print itself for ever, and stays out of heartbeats") {
    val registered = summary
    spark.sparkContext.register(registered)
    for (s <- Seq(summary, registered)) assert(s.toString.contains("1 keys, 0 partitions"))
    assert(SparkFeatures.staysOutOfHeartbeats(registered))
  }

  // `maxMergeBytes` once counted for each key alone, whatever the driver's heap.
  test("the keys of a stage share the bytes that may be merged, which the driver's heap bounds as well") {
    val two = new KeySummary(Seq.fill(2)(LongType -> 1024L), 10, mergeBytes = 1500, taskBytes = 10000)
    assert(two.begin(0).map(_.bloomBytes).toSeq == Seq(1024L, 0L))
    val cluster = Cluster(1, 1, executorHeap = 1L << 40, driverHeap = 1L << 30, shufflePartitions = 1)
    assert(cluster.mergeLimit(256L << 20) < (64L << 20) && cluster.mergeLimit(100) == 100)
  }

  // The bloom filters of a task were once bounded by the driver's heap alone.
  test("a task fills no more than its part of the executor's heap") {
    val summary = new KeySummary(Seq.fill(2)(LongType -> 1024L), 10, mergeBytes = 1L << 30, taskBytes = 1500)
    assert(summary.begin(0).map(_.bloomBytes).toSeq == Seq(1024L, 0L))
    assert(Cluster(9, 8, 1L << 30, 8L << 30, 1).summaryLimit < (8L << 20))
  }

  // Tasks once listed up to 1,024 keys each, however many tasks there were: 50,000 of them sent more than a GB.
  test("each of many tasks lists fewer keys") {
    def limit(mergeBytes: Long) =
      new KeySummary(Seq(LongType -> 1024L), 1024, mergeBytes, taskBytes = 1 << 20)
        .begin(0)
        .map(_.limit)
        .toSeq
    assert(limit(256L << 20) == Seq(1024) && limit(6400) == Seq(100) && limit(0) == Seq(64))
  }

  // The texts of a set operation were once listed as keys, up to a whole column per task.
  test("texts are not listed as keys: the driver would get all of a column") {
    def facts(texts: Seq[String]) = {
      val f = new KeyFacts(StringType, 1024, 1024)
      texts.foreach(t => f.add(UTF8String.fromString(t)))
      f
    }
    val (long, short) = ((1 to 20).map(i => i.toString * 10000), (1 to 1000).map(_.toString))
    assert(facts(long).values == null && facts(long).bloom != null)
    assert(facts(short).values.size == 1000)
    // The same values of many tasks are no more than of one.
    val all = facts(short)
    for (_ <- 1 to 200) all.union(facts(short)): Unit
    assert(all.values.size == 1000)
    assert(facts(long.take(8)).union(facts(long.drop(8).take(8))).values == null)
  }

  // The next batch could once overwrite a listed key: `UTF8String.clone` returns the reader's own array if
  // the string fills it.
  test("a listed string is a copy, also of a string that has an array for itself") {
    val bytes = "first".getBytes
    val f = new KeyFacts(StringType, 10, 0)
    f.add(UTF8String.fromBytes(bytes))
    bytes(0) = 'F'
    assert(f.values.contains(UTF8String.fromString("first")))
    assert(f.range.contains((UTF8String.fromString("first"), UTF8String.fromString("first"))))
  }
}

package org.apache.spark.sql.springbok.keys

import java.nio.ByteBuffer

import scala.reflect.ClassTag

import org.apache.spark.SparkConf
import org.apache.spark.serializer.JavaSerializer
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
    assert(two.begin(0).map(_.bloomBytes).toSeq == Seq(512L, 512L))
    val cluster = Cluster(1, 1, executorHeap = 1L << 40, driverHeap = 1L << 30, shufflePartitions = 1)
    assert(cluster.mergeLimit(256L << 20) < (64L << 20) && cluster.mergeLimit(100) == 100)
  }

  // The bloom filters of a task were once bounded by the driver's heap alone.
  test("a task fills no more than its part of the executor's heap") {
    val summary = new KeySummary(Seq.fill(2)(LongType -> 1024L), 10, mergeBytes = 1L << 30, taskBytes = 1500)
    assert(summary.begin(0).map(_.bloomBytes).toSeq == Seq(512L, 512L))
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

  // A bloom filter of each of 500 tasks was once too much to merge.
  test("many tasks send the hashes of their few keys, and the filter has its planned size") {
    val tasks = 2000
    val whole =
      new KeySummary(Seq(LongType -> (1L << 20)), 1024, mergeBytes = 64L << 20, taskBytes = 1L << 20)
    for (t <- 0 until tasks) {
      val facts = new KeyFacts(LongType, 64, KeySummary.affordable(1 << 20, 32L << 10), hashBytes = 32L << 10)
      for (k <- 0 until 500) facts.addLong(t * 500L + k)
      assert(facts.values == null && facts.bloom == null && sentBytes(facts) < 6000)
      val task = new KeySummary(Seq(LongType -> (1L << 20)), 1024, 64L << 20, 1L << 20)
      task.add(KeySummary.Partial(t, Array(again(facts))))
      whole.merge(task)
    }
    val bloom = whole.key(0).bloom
    assert(bloom.bytes == (1 << 20) && whole.partitions == tasks)
    assert((0L until tasks * 500L).forall(k => bloom.mayHave(k)))
    assert(math.abs(whole.key(0).distinct.get / (tasks * 500) - 1) < 0.05)
    val foreign = (0 until 100000).count(k => bloom.mayHave(-k - 1L))
    assert(foreign < 100000 * 3 * SplitBlockBloom.falsePositiveRate(tasks * 500.0, 1 << 20))
  }

  test("hashes that are too many become the bloom filter that a task may send, or nothing") {
    for ((share, bytes) <- Seq(4096L -> 4096L, 2048L -> 2048L, 1024L -> 1024L, 512L -> 0L)) {
      val bloom = KeySummary.affordable(4096, share)
      assert(bloom == bytes)
      val facts = new KeyFacts(LongType, 10, bloom, hashBytes = share)
      (0L until 2000L).foreach(facts.addLong)
      assert(Option(facts.bloom).fold(0L)(_.bytes) == bytes)
      val all = new KeyFacts(LongType, 10, 4096)
      for (k <- 5000L until 5020L) all.addLong(k)
      all.union(facts): Unit
      // Without the keys of one task there is no filter, whatever comes later.
      all.union(new KeyFacts(LongType, 10, 4096)): Unit
      assert(Option(all.bloom).fold(0L)(_.bytes) == bytes)
      if (bytes > 0) assert(((0L until 2000L) ++ (5000L until 5020L)).forall(all.bloom.mayHave))
    }
  }

  test("hashes: zero, repeated ones, and a copy") {
    val hashes = new KeyHashes
    val all = Seq(0L, 1L, -1L, Long.MinValue) ++ (1 to 1000).map(_.toLong << 32)
    for (_ <- 1 to 2; h <- all) hashes.add(h)
    for (h <- Seq(hashes, hashes.copy(), again(hashes))) {
      val found = Seq.newBuilder[Long]
      h.foreach(found += _)
      assert(h.size == all.size && found.result().toSet == all.toSet)
    }
  }

  private def sent(x: AnyRef): ByteBuffer = new JavaSerializer(new SparkConf).newInstance().serialize(x)
  private def sentBytes(x: AnyRef): Int = sent(x).remaining
  private def again[T <: AnyRef: ClassTag](x: T): T =
    new JavaSerializer(new SparkConf).newInstance().deserialize[T](sent(x))

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

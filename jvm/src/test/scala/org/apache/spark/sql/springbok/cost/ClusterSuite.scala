package org.apache.spark.sql.springbok.cost

import org.apache.spark.memory.UnifiedMemoryManager
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.conf.ClusterConf

class ClusterSuite extends SpringbokTest {
  // A context of its own, which the test stops.
  override protected def master: String = "local[3]"

  test(
    "the memory of an executor is what Spark's memory manager shares, and the hosts are those that are there"
  ) {
    val sc = spark.sparkContext
    // The JVM's own heap counts more or less bytes as garbage collectors adapt.
    val heap = 3L << 30
    val testing = sc.conf.clone.set("spark.testing.memory", heap.toString)
    val shared = UnifiedMemoryManager(testing, numCores = 1).maxOnHeapStorageMemory
    assert(Cluster.unifiedMemory(heap, sc.conf) == shared)
    val offHeap =
      sc.conf.clone.set("spark.memory.offHeap.enabled", "true").set("spark.memory.offHeap.size", "5g")
    assert(Cluster.unifiedMemory(heap, offHeap) == shared + (5L << 30))
    assert(Cluster.hosts(sc, SQLConf.get).contains(1))
    conf(ClusterConf.EXECUTORS.key -> "50")(
      assert(Cluster.hosts(sc, spark.sessionState.conf).isEmpty)
    )
  }

  test("a context that is being stopped has the cluster that it had") {
    val (sc, conf) = (spark.sparkContext, SQLConf.get)
    val before = Cluster.of(sc, conf)
    assert(before.coresPerExecutor == 3)
    var atEnd: Option[Cluster] = None
    sc.addSparkListener(new SparkListener {
      override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit =
        atEnd = Some(Cluster.of(sc, conf))
    })
    sc.stop()
    assert(atEnd.contains(before))
  }
}

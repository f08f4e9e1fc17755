package org.apache.spark.sql.springbok.cost

import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.SpringbokTest

class ClusterSuite extends SpringbokTest {
  // A context of its own, which the test stops.
  override protected def master: String = "local[3]"

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

package org.apache.spark.sql.springbok.cost

import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd}
import org.apache.spark.sql.internal.SQLConf
import org.scalatest.funsuite.AnyFunSuite

class ClusterSuite extends AnyFunSuite {
  test("a context that is being stopped has the cluster that it had") {
    val sc = new SparkContext(
      new SparkConf().setMaster("local[3]").setAppName("stops").set("spark.ui.enabled", "false")
    )
    val before = Cluster.of(sc, SQLConf.get)
    assert(before.coresPerExecutor == 3)
    var atEnd: Option[Cluster] = None
    sc.addSparkListener(new SparkListener {
      override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit =
        atEnd = Some(Cluster.of(sc, SQLConf.get))
    })
    sc.stop()
    assert(atEnd.contains(before))
  }
}

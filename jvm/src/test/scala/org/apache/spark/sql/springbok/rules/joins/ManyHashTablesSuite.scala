package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.execution.joins.{ShuffledHashJoinExec, SortMergeJoinExec}
import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.conf.ClusterConf

/** Joins of one stage, whose hash tables do not fit into the memory of a task together. */
class ManyHashTablesSuite extends SpringbokTest {
  // Spark's memory manager shares 180 MB among two tasks, in pages of 4 MB.
  override protected def sessionConf: Map[String, String] = super.sessionConf ++ shuffled ++ Map(
    "spark.testing.memory" -> "629145600",
    ClusterConf.EXECUTOR_MEMORY.key -> "600m",
    "spark.sql.shuffle.partitions" -> "4",
    "spark.springbok.planning.budget" -> "0"
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("t", "SELECT id, id % 1000 AS v FROM range(100000)")
  }

  // Their tables once failed with SparkOutOfMemoryError: only the bytes of rows were counted.
  for (key <- Seq("id", "concat('key ', id)"))
    test(s"twelve joins in one stage by $key: tables that fit, and merges that can spill") {
      val n = 12
      val sums = (1 to n).map(i => s"sum(s$i.v)").mkString(", ")
      val k = s"SELECT $key AS k, v FROM t"
      val sql = s"SELECT count(*), $sums FROM ($k) t0 " + (1 to n)
        .map(i => s"JOIN ($k) s$i ON t0.k = s$i.k")
        .mkString(" ")
      val df = same(sql)
      def decisions = record(df).joins.map(_.latest.get.choice)
      assert(joins(df).exists(_.isInstanceOf[ShuffledHashJoinExec]), decisions)
      assert(joins(df).exists(_.isInstanceOf[SortMergeJoinExec]), decisions)
    }
}

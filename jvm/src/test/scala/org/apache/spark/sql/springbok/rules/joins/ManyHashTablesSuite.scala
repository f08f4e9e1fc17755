package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.execution.joins.SortMergeJoinExec
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
  for (key <- Seq("s.id + i", "concat('key ', s.id + i)"))
    test(s"twelve joins in one stage by $key take no more memory than there is") {
      def keyOf(i: Int) = key.replace("s.", s"s$i.").replace(" i", s" $i")
      val n = 12
      val sums = (1 to n).map(i => s"sum(s$i.v)").mkString(", ")
      val all =
        (1 to n).map(i => s"JOIN t s$i ON ${keyOf(0).replace("s0.", "t.")} = ${keyOf(i)}").mkString(" ")
      val df = same(s"SELECT count(*), $sums FROM t $all")
      // On Spark 3.5 the tables of integers are small enough for all of them.
      if (SPARK_VERSION >= "4.0" || key.startsWith("concat"))
        assert(joins(df).exists(_.isInstanceOf[SortMergeJoinExec]), joins(df).map(_.nodeName))
    }
}

package org.apache.spark.sql.springbok.rules.joins

import java.nio.file.Files

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.joins.{BroadcastNestedLoopJoinExec, ShuffledHashJoinExec}
import org.apache.spark.sql.springbok.{Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.conf.{ClusterConf, PlanningConf}
import org.apache.spark.sql.springbok.report.SpringbokReport

/** Queries of little data that one task computes where the cluster has one core. */
class PlanSingleNodeSuite extends SpringbokTest {

  override protected def sessionConf: Map[String, String] =
    super.sessionConf ++ Map(
      PlanningConf.BUDGET.key -> "0.05",
      ClusterConf.EXECUTORS.key -> "1",
      ClusterConf.CORES.key -> "1"
    )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    spark
      .range(20000)
      .selectExpr("id % 1100 AS k", "id AS v", "id % 3 AS w")
      .repartition(3)
      .write
      .parquet(s"$folder/facts")
    spark.read.parquet(s"$folder/facts").createOrReplaceTempView("facts")
    table("dims", "SELECT id AS k, id % 10 AS grp, if(id % 50 = 0, null, id % 7) AS n FROM range(1000)")
  }

  private def exchanges(df: DataFrame): Seq[Exchange] =
    collectWithSubqueries(executed(df)) { case e: Exchange => e }

  private def inOneTask(df: DataFrame): Boolean = record(df).leftToSpark.exists(_.code == "ONE_TASK")

  private val keys = "f.k = d.k"
  private def aggregated(join: String, on: String = keys): String =
    s"SELECT d.grp, count(*), sum(f.v) FROM facts f $join dims d ON $on GROUP BY d.grp ORDER BY d.grp"

  for (join <- Seq("JOIN", "LEFT JOIN", "RIGHT JOIN"))
    test(s"$join without an exchange", Smoke) {
      val df = same(aggregated(join))
      assert(inOneTask(df) && exchanges(df).isEmpty, executed(df))
      assert(joins(df).map(_.getClass) == Seq(classOf[ShuffledHashJoinExec]))
      assert(SpringbokReport.of(execution(df)).note.exists(_.contains("which one task joins")))
    }

  for (join <- Seq("LEFT SEMI JOIN", "LEFT ANTI JOIN"))
    test(s"$join, null-safe keys and further conditions") {
      for (on <- Seq(keys, "f.k <=> d.n", s"$keys AND f.v > d.n * 100")) {
        val df = same(s"SELECT w, count(*) FROM facts f $join dims d ON $on GROUP BY w")
        assert(inOneTask(df) && exchanges(df).isEmpty, executed(df))
      }
    }

  test("joins without an equality, windows, unions, limits and subqueries") {
    val nested = same("SELECT count(*) FROM dims f JOIN dims d ON f.k < d.k AND d.grp = 1 WHERE f.grp = 3")
    assert(inOneTask(nested) && joins(nested).exists(_.isInstanceOf[BroadcastNestedLoopJoinExec]))
    for (
      query <- Seq(
        s"SELECT * FROM (SELECT f.v, rank() OVER (PARTITION BY d.grp ORDER BY f.v) r FROM facts f JOIN dims d ON $keys) " +
          "WHERE r < 3 ORDER BY v",
        s"SELECT f.v, d.n FROM facts f JOIN dims d ON $keys ORDER BY f.v LIMIT 7",
        s"SELECT n, count(DISTINCT v) FROM (SELECT d.n, f.v FROM facts f JOIN dims d ON $keys UNION ALL SELECT k, v FROM facts) " +
          "GROUP BY n",
        s"SELECT d.grp, n, count(*) FROM facts f JOIN dims d ON $keys GROUP BY ROLLUP (d.grp, n)"
      )
    ) {
      val df = same(query)
      assert(inOneTask(df) && exchanges(df).isEmpty, executed(df))
    }
    val outer = same(
      s"SELECT * FROM dims WHERE k > (SELECT avg(f.v) / 20 FROM facts f JOIN dims d ON $keys) ORDER BY k"
    )
    assert(exchanges(outer).size <= 1, executed(outer))
  }

  test("what may take long, depends on its partition or returns many rows keeps Spark's plan") {
    spark.udf.register("slow", (x: Long) => x + 1)
    for (
      query <- Seq(
        s"SELECT f.v, d.grp FROM facts f JOIN dims d ON $keys",
        s"SELECT d.grp, sum(slow(f.v)) FROM facts f JOIN dims d ON $keys GROUP BY d.grp",
        s"SELECT d.grp, count(*) FROM (SELECT *, spark_partition_id() p FROM facts) f JOIN dims d ON $keys AND p >= 0 GROUP BY d.grp",
        s"SELECT d.grp, count(*) FROM (SELECT /*+ REPARTITION(7) */ * FROM facts) f JOIN dims d ON $keys GROUP BY d.grp",
        aggregated("FULL JOIN"),
        // 100 million pairs of rows.
        "SELECT count(*) FROM facts f JOIN facts d ON f.w = d.w AND f.v <> d.v"
      )
    ) assert(!inOneTask(spark.sql(query)), query)
    conf(ClusterConf.CORES.key -> "2")(assert(!inOneTask(same(aggregated("JOIN")))))
  }

  test("many files are read by many tasks") {
    spark.range(2000).selectExpr("id AS k", "id AS v").repartition(12).write.parquet(s"$folder/many")
    spark.read.parquet(s"$folder/many").createOrReplaceTempView("many")
    assert(!inOneTask(same("SELECT count(*), max(f.v) FROM many f JOIN dims d ON f.k = d.k")))
    // Also beside a table without a file, with which the query is known to return nothing.
    Files.createDirectory(folder.resolve("nothing")): Unit
    spark.read
      .schema(spark.table("many").schema)
      .parquet(s"$folder/nothing")
      .createOrReplaceTempView("nothing")
    val beside =
      same("SELECT count(*), max(f.v) FROM nothing n JOIN many f ON f.k = n.k JOIN dims d ON f.k = d.k")
    // Its reason was once lost when the query was looked at, and the rules planned it after all.
    assert(record(beside).leftToSpark.map(_.code).contains("LITTLE_DATA"), executed(beside))
  }

  test("a table that is cached, and a query that fills a cache") {
    spark.table("facts").cache().createOrReplaceTempView("cached")
    val df = same(aggregated("JOIN").replace("facts", "cached"))
    assert(exchanges(df).isEmpty || !inOneTask(df), executed(df))
    val filled = spark.sql(aggregated("JOIN")).cache()
    assert(sorted(filled.collect()) == off(sorted(spark.sql(aggregated("JOIN")).collect())))
  }
}

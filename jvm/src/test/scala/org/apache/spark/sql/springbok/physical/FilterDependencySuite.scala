package org.apache.spark.sql.springbok.physical

import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.util.Try

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec
import org.apache.spark.sql.springbok.{Slow, Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterType, JoinConf}

/** Scans that depend on the stage of a build side: what they wait for, how long, and what the user sees if it fails. */
class FilterDependencySuite extends SpringbokTest {
  private val small = "(SELECT k, 100 / z AS q FROM mid WHERE g = 7)"
  private val grouped = "(SELECT k, count(*) AS n FROM fact GROUP BY k)"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    val path = folder.resolve("fact").toString
    spark.range(0, 40000, 1, 8).selectExpr("id AS v", "id % 1000 AS k").write.parquet(path)
    spark.read.parquet(path).createOrReplaceTempView("fact")
    table("mid", "SELECT id AS k, id % 50 AS g, id % 13 AS z FROM range(1000)")
    spark.udf.register("held", (v: Long) => FilterDependencySuite.held(v))
    spark.udf.register("begun", (v: Long) => FilterDependencySuite.begun(v)): Unit
  }

  /** The classes of an error and its causes, and the error that Spark names. */
  private def failure(sql: String): Seq[String] = {
    val e = Try(spark.sql(sql).collect()).failed.get
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).map(_.getClass.getName).toSeq :+
      e.getMessage.takeWhile(_ != ' ')
  }

  for (
    (what, sql) <- Seq(
      "a shuffle" -> s"SELECT /*+ MERGE(m) */ v, q FROM fact f JOIN $small m ON f.k = m.k",
      "a broadcast that another stage reads" ->
        s"SELECT /*+ BROADCAST(m) */ n, q FROM $grouped f JOIN $small m ON f.k = m.k"
    )
  )
    test(s"the failure of $what that a scan waits for is the user's error, once") {
      conf(FilterConf.WAIT.key -> "ALWAYS", "spark.sql.autoBroadcastJoinThreshold" -> "-1") {
        val works = sql.replace("100 / z", "z")
        assert(used(same(works)).nonEmpty, works)
        val expected = off(failure(sql))
        for (_ <- 1 to 3) assert(failure(sql) == expected)
      }
    }

  private def held(types: Seq[FilterType]): DataFrame = {
    val sql = "SELECT /*+ MERGE(m) */ count(*), sum(f.v) FROM (SELECT * FROM fact WHERE begun(v)) f " +
      "JOIN (SELECT k FROM mid WHERE g = 7 AND held(g)) m ON f.k = m.k"
    conf(FilterConf.MAX_IDLE.key -> "0", FilterConf.TYPES.key -> types.map(_.name).mkString(",")) {
      val expected = off(spark.sql(sql.replace("AND held(g)", "")).collect())
      FilterDependencySuite.start()
      val df = spark.sql(sql)
      assert(df.collect().toSeq == expected.toSeq)
      assert(FilterDependencySuite.scanCameFirst, record(df).filters.all.map(_.reason.text))
      df
    }
  }

  test("a scan starts without a build side that takes too long, and may get its filter later", Smoke) {
    val df = held(FilterType.all)
    assert(applied(df).exists(_.late.isDefined), executed(df))
  }

  test("a scan that can only skip files by the filter goes without it") {
    val df = held(Seq(FilterType.In, FilterType.MinMax))
    assert(record(df).filters.all.map(_.reason.code) == Seq("WAIT_ENDED"))
  }

  // A thread of Spark's pool for broadcasts once looked at the query that had made the thread.
  test("the wait is that of the query, not of one that ended before") {
    conf(FilterConf.WAIT.key -> "ALWAYS", "spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      for (n <- 1 to 4) {
        val df = same(
          s"SELECT /*+ MERGE(m) */ count(*) FROM fact f JOIN $small m ON f.k = m.k AND f.v > $n"
            .replace("100 / z", "z")
        )
        assert(used(df).nonEmpty, record(df).filters.all.map(_.reason.text))
      }
    }
  }

  // Nothing else made adaptive execution look again: the subquery waited for ever.
  test("a build side that has finished for another part of the query", Slow) {
    val joined = "fact f JOIN (SELECT k FROM mid WHERE g = 7) m ON f.k = m.k"
    val sql = s"SELECT /*+ MERGE(m) */ f.k, sum(v) AS s FROM $joined GROUP BY f.k " +
      s"HAVING s > (SELECT /*+ MERGE(m) */ sum(v) * 0.0001 FROM $joined)"
    conf(FilterConf.WAIT.key -> "ALWAYS", "spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      for (_ <- 1 to 2) assert(used(same(sql)).size == 2, sql)
      conf("spark.sql.exchange.reuse" -> "false")(assert(used(same(sql)).size == 2))
      // The build side has a filter of its own, and adaptive execution knows it by another form once that is decided.
      val nested = sql.replace(
        "FROM mid WHERE g = 7",
        "FROM mid JOIN (SELECT g AS h FROM mid WHERE k < 9) s WHERE g = h"
      )
      assert(used(same(nested)).nonEmpty, nested)
    }
  }

  test("a build side that is sent to all when it has been shuffled: the scan waits for that as well") {
    conf(
      JoinConf.ENABLED.key -> "false",
      FilterConf.WAIT.key -> "ALWAYS",
      "spark.sql.autoBroadcastJoinThreshold" -> "-1",
      "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "10MB"
    ) {
      val sent = "(SELECT DISTINCT k FROM mid WHERE g = 7)"
      val df = same(s"SELECT n, m.k FROM $grouped f JOIN $sent m ON f.k = m.k")
      assert(collect(executed(df)) { case j: BroadcastHashJoinExec => j }.nonEmpty, executed(df))
      assert(applied(df).map(_.late) == Seq(None), record(df).filters.all.map(_.reason.text))
    }
  }

  test("a finished build side has more rows than expected, and few keys: these decide") {
    table("pairs", "SELECT id % 100 * 10 AS k, id AS j FROM range(3000)")
    spark.udf.register("all", (v: Long) => v >= 0): Unit
    val pairs = "(SELECT k, j FROM pairs WHERE all(j))"
    conf(FilterConf.WAIT.key -> "ALWAYS", "spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      val df = same(s"SELECT /*+ MERGE(m) */ count(*), sum(v) FROM fact f JOIN $pairs m ON f.k = m.k")
      assert(used(df).nonEmpty, record(df).filters.all.map(_.reason.text))
    }
  }

  test("the wait ends with the query that is cancelled") {
    val sql =
      "SELECT /*+ MERGE(m) */ count(*) FROM fact f JOIN (SELECT k FROM mid WHERE held(g)) m ON f.k = m.k"
    FilterDependencySuite.start()
    val sc = spark.sparkContext
    val query = new Thread(() => {
      sc.setJobGroup("cancelled", "", interruptOnCancel = true)
      Try(spark.sql(sql).collect()): Unit
    })
    query.start()
    while (sc.statusTracker.getJobIdsForGroup("cancelled").isEmpty && query.isAlive) Thread.sleep(5)
    sc.cancelJobGroup("cancelled")
    query.join(30000)
    assert(!query.isAlive)
  }
}

object FilterDependencySuite {
  @volatile private var scan = new CountDownLatch(1)
  @volatile private var tried = false
  @volatile private var waited = false

  def start(): Unit = {
    scan = new CountDownLatch(1)
    tried = false
    waited = false
  }

  /** Whether the build side went on because the scan had begun. */
  def scanCameFirst: Boolean = waited

  /** In the build side: true, once the scan has begun. */
  def held(v: Long): Boolean = {
    if (v == 7 && !tried) {
      tried = true
      waited = scan.await(30, TimeUnit.SECONDS)
    }
    v >= 0
  }

  /** In the scan: true. */
  def begun(v: Long): Boolean = {
    scan.countDown()
    v >= 0
  }
}

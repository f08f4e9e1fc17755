package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2ScanRelation}
import org.apache.spark.sql.springbok.{Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.stats.estimate.Source
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/** Scans that a connector builds again with a runtime filter. */
class RebuiltScanSuite extends SpringbokTest {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("dim", "SELECT id * 7 AS key, id % 100 AS grp, id DIV 10 AS tens FROM range(1400)")
    chunked("fact", "declared" -> "true")
  }

  private def chunked(name: String, options: (String, String)*): Unit =
    spark.read
      .format(classOf[ChunkedSource].getName)
      .options(options.toMap)
      .load()
      .createOrReplaceTempView(name)

  private def scan(df: DataFrame): BatchScanExec =
    collectWithSubqueries(executed(df)) { case b: BatchScanExec => b }.head

  private def partitions(df: DataFrame): Int = scan(df).inputPartitions.size

  private def joined(fact: String, where: String): DataFrame =
    conf(shuffled: _*)(same(s"SELECT f.id, f.v, d.grp FROM $fact f JOIN dim d ON f.id = d.key WHERE $where"))

  test("a connector builds its scan again with a list of keys and reads only what may hold them", Smoke) {
    val df = joined("fact", "d.tens = 20")
    assert(told(df) == Seq(Right("rebuilt")) && used(df).head.kinds.head == "in")
    // The keys 1400 to 1463 are in the second chunk.
    assert(partitions(df) == 1 && scan(df).metrics("numOutputRows").value == 1000)
  }

  test("keys that are too many for a list become ranges, or one range") {
    conf(FilterConf.IN_LIMIT.key -> "3") {
      val df = joined("fact", "d.tens BETWEEN 20 AND 39")
      assert(used(df).head.kinds.head == "minmax" && partitions(df) == 2)
    }
    conf(FilterConf.IN_LIMIT.key -> "4096") {
      val df = joined("fact", "d.key < 700 OR d.key BETWEEN 3000 AND 3999 OR d.key > 7800 AND d.key < 8000")
      assert(used(df).head.kinds.head == "in" && partitions(df) == 3)
      table(
        "many",
        "SELECT id AS key, id % 3 AS grp FROM range(2000) UNION ALL SELECT id, 0 FROM range(9000, 9800)"
      )
      val ranges = conf(shuffled: _*)(
        same(
          "SELECT /*+ RUNTIME_FILTER_TARGET(f) */ f.id, d.grp FROM fact f JOIN many d ON f.id = d.key WHERE d.grp < 2"
        )
      )
      assert(told(ranges) == Seq(Right("rebuilt")), record(ranges).filters.all.map(_.reason.text))
      assert(used(ranges).head.kinds.head == "ranges" && partitions(ranges) == 3)
    }
  }

  // Such a condition is not in the plan that is executed, so that a scan without it would return more rows.
  test("what the connector evaluates completely is pushed again") {
    val df = joined("fact", "f.chunk IN (1, 2, 3) AND f.v % 4 = 0 AND d.tens IN (20, 30, 60)")
    assert(told(df) == Seq(Right("rebuilt")), record(df).filters.all.map(_.reason.text))
    assert(partitions(df) == 2)
  }

  test("a second filter is added to the first one") {
    table("other", "SELECT CAST(id AS INT) AS chunk, id % 5 AS grp FROM range(10)")
    conf(shuffled: _*) {
      val df =
        same("""SELECT f.id, o.grp FROM fact f JOIN dim d ON f.id = d.key JOIN other o ON f.chunk = o.chunk
                      |WHERE d.tens BETWEEN 0 AND 59 AND o.grp = 3""".stripMargin)
      assert(told(df) == Seq(Right("rebuilt"), Right("rebuilt")))
      // Chunks 0 to 4 have keys, and of the chunks 3 and 8 the first one does.
      assert(partitions(df) == 1)
    }
  }

  test("a comparison's bound is told as well") {
    conf(shuffled: _*) {
      val df = same(
        "SELECT /*+ BROADCAST(m) */ count(*) FROM fact f JOIN (SELECT max(key) AS k FROM dim WHERE tens = 20) m ON f.id > m.k"
      )
      assert(told(df) == Seq(Right("rebuilt")) && partitions(df) == 9)
    }
  }

  test("where no chunk is left the query still has its row of totals") {
    conf(shuffled: _*) {
      table("beyond", "SELECT id + 20000 AS key, id % 10 AS grp FROM range(100)")
      val df = same("SELECT count(*), sum(f.v) FROM fact f JOIN beyond d ON f.id = d.key WHERE d.grp = 3")
      assert(told(df) == Seq(Right("rebuilt")))
      assert(df.head() == Row(0, null))
    }
  }

  test("the version that was planned is read, whatever was written since") {
    val before =
      spark.sql("SELECT sum(v) FROM fact WHERE id IN (SELECT key FROM dim WHERE tens = 20)").collect()
    conf(shuffled: _*) {
      val df = spark.sql("SELECT sum(f.v) FROM fact f JOIN dim d ON f.id = d.key WHERE d.tens = 20")
      executed(df): Unit
      ChunkedSource.version += 1
      assert(df.collect().toSeq == before.toSeq)
      assert(told(df) == Seq(Right("rebuilt")))
    }
  }

  test("a connector that does not say that it may is not asked to") {
    chunked("unknown")
    val df = joined("unknown", "d.tens = 20")
    assert(notTold(df) == Seq("SCAN_TAKES_NONE") && partitions(df) == 10)
  }

  test("a scan that does not prove equal is left as it is") {
    chunked("unequal", "declared" -> "true", "equality" -> "none")
    val df = joined("unequal", "d.tens = 20")
    assert(isKept(df, "not equal") && partitions(df) == 10)
  }

  test("a connector that fails to build the scan again fails no query") {
    chunked("failing", "declared" -> "true", "fails" -> "true")
    val expected = off {
      ChunkedSource.built = 0
      sorted(spark.sql("SELECT f.id FROM failing f JOIN dim d ON f.id = d.key WHERE d.tens = 20").collect())
    }
    conf(shuffled: _*) {
      ChunkedSource.built = 0
      val df = spark.sql("SELECT f.id FROM failing f JOIN dim d ON f.id = d.key WHERE d.tens = 20")
      assert(sorted(df.collect()) == expected)
      assert(isKept(df, "could not build it") && partitions(df) == 10)
    }
  }

  test("metadata columns are read by the scan that Spark has built") {
    spark.read
      .format(classOf[ChunkedSource].getName)
      .option("declared", "true")
      .load()
      .select("id", "_chunk_rows")
      .createOrReplaceTempView("counted")
    conf(shuffled: _*) {
      val df = same("SELECT f.id, f._chunk_rows FROM counted f JOIN dim d ON f.id = d.key WHERE d.tens = 20")
      assert(isKept(df, "metadata columns") && partitions(df) == 10)
    }
  }

  test("a scan whose grouping the plan may use keeps its partitions") {
    chunked("grouped", "declared" -> "true", "grouped" -> "true")
    conf("spark.sql.sources.v2.bucketing.enabled" -> "true") {
      val df = conf(shuffled: _*)(
        same("SELECT f.id, f.chunk FROM grouped f JOIN dim d ON f.id = d.key WHERE d.tens = 20")
      )
      assert(isKept(df, "groups or sorts") && partitions(df) == 10)
    }
  }

  test("a small scan is not planned twice") {
    conf(FilterConf.MIN_BENEFIT_MS.key -> "1000", FilterConf.WAIT.key -> "ALWAYS") {
      val df = joined("fact", "d.tens = 20")
      assert(notTold(df) == Seq("SMALL_BENEFIT") && partitions(df) == 10)
    }
  }

  test("rows are counted by the connector") {
    val scan = execution(spark.table("fact")).optimizedPlan.collectFirst { case s: DataSourceV2ScanRelation =>
      s
    }
    val rows = scan.flatMap(new PlanStats()(_).rows)
    assert(rows.exists(n => n.value == 10000 && n.source == Source.Connector), (rows, scan))
  }
}

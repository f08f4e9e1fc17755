package org.apache.spark.sql.springbok.rules.shuffles

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.exchange.{ReusedExchangeExec, ShuffleExchangeExec}
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.springbok.{Slow, Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.conf.{ExchangeConf, FilterConf}
import org.apache.spark.sql.springbok.cost.ShuffleWriteCost

class ChooseShuffleWriterSuite extends SpringbokTest {
  private val partitioned = shuffled :+ ("spark.sql.shuffle.partitions" -> "110")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT id, id % 1000 AS k, id % 7 AS day FROM range(20000)")
    table("dim", "SELECT id AS k, id % 10 AS label FROM range(1000)")
    table("days", "SELECT id AS day, id % 3 AS week FROM range(7)")
  }

  private def partitions(df: DataFrame): Seq[Int] = collectWithSubqueries(executed(df)) {
    case e: ShuffleExchangeExec =>
      e.outputPartitioning.numPartitions
  }.filter(_ > 1)

  private def reused(df: DataFrame): Int = collectWithSubqueries(executed(df)) { case r: ReusedExchangeExec =>
    r
  }.size

  /** As many exchanges are run and reused as without Springbok's choice of writers. */
  private def asShared(sql: String): DataFrame = {
    val df = same(sql)
    val plain = conf(ExchangeConf.CHOOSE_WRITER.key -> "false")(same(sql))
    assert((partitions(df).size, reused(df)) == ((partitions(plain).size, reused(plain))))
    df
  }

  test("few rows are sorted: one partition more than Spark writes a file each", Smoke) {
    conf(partitioned: _*) {
      val df =
        same("SELECT d.label, count(*) FROM fact f JOIN dim d ON f.k = d.k GROUP BY d.label ORDER BY 1")
      assert(partitions(df).toSet == Set(201), executed(df))
    }
  }

  test("a query without joins") {
    conf(partitioned: _*) {
      assert(partitions(same("SELECT k, sum(id) FROM fact GROUP BY k")) == Seq(201))
    }
  }

  test("many rows are not sorted, nor is a side that meets them", Slow) {
    table("large", "SELECT id, hash(id) AS k FROM range(3000000)")
    conf(partitioned: _*) {
      val df = same("SELECT count(*), sum(l.id) FROM large l LEFT JOIN dim d ON l.k = d.k")
      assert(partitions(df).toSet == Set(110))
    }
  }

  test("the number that the query asks for stays, also of what is joined with it", Smoke) {
    conf(partitioned: _*) {
      for (hint <- Seq("REPARTITION(110, k)", "REPARTITION(k)")) {
        val df = same(s"SELECT count(*) FROM (SELECT /*+ $hint */ * FROM fact) f JOIN dim d ON f.k = d.k")
        assert(partitions(df).toSet == Set(110), hint)
      }
    }
  }

  // `repartition(200, k)` above an aggregate or a join on `k` once had 201 partitions: Spark leaves the
  // query's exchange out, and the other exchange was changed.
  test("the number that the query asks for stays where Spark has left its exchange out") {
    conf(partitioned: _*) {
      for (
        sql <- Seq(
          "SELECT k, count(*) AS n FROM fact GROUP BY k",
          "SELECT f.k, label FROM fact f JOIN dim d ON f.k = d.k",
          "SELECT k, n + 1 AS n FROM (SELECT k, count(*) AS n FROM fact GROUP BY k) WHERE n > 3"
        )
      ) {
        val df = spark.sql(sql).repartition(110, col("k"))
        assert(df.rdd.getNumPartitions == 110, sql)
        df.collect(): Unit
        assert(partitions(df).toSet == Set(110), sql)
      }
    }
  }

  test("fewer partitions, other settings and other execution: as without") {
    val sql = "SELECT count(*) FROM fact f JOIN dim d ON f.k = d.k"
    def plain(n: Int, settings: (String, String)*) =
      conf(partitioned ++ settings: _*)(assert(partitions(same(sql)).toSet == Set(n)))
    plain(100, "spark.sql.shuffle.partitions" -> "100")
    plain(300, "spark.sql.shuffle.partitions" -> "300")
    plain(110, ExchangeConf.CHOOSE_WRITER.key -> "false")
    plain(110, "spark.sql.adaptive.coalescePartitions.enabled" -> "false")
    plain(110, "spark.sql.adaptive.enabled" -> "false")
  }

  test("a bucketed table is not shuffled for it", Slow) {
    spark
      .table("fact")
      .coalesce(1)
      .write
      .bucketBy(120, "k")
      .sortBy("k")
      .option("path", folder.resolve("bucketed").toString)
      .saveAsTable("bucketed")
    conf(partitioned ++ Seq("spark.sql.shuffle.partitions" -> "120"): _*) {
      val df = asShared("SELECT count(*), sum(b.id) FROM bucketed b JOIN dim d ON b.k = d.k")
      assert(partitions(df) == Seq(120), executed(df))
    }
  }

  test("an exchange that is read twice is run once") {
    // Groups in a stage of their own would be one exchange more.
    conf(partitioned :+ (FilterConf.SEPARATE.key -> "false"): _*) {
      val twice = asShared(
        "WITH s AS (SELECT k, sum(id) AS t FROM fact GROUP BY k) " +
          "SELECT a.k, a.t, b.t FROM s a JOIN s b ON a.k = b.k JOIN dim d ON a.k = d.k"
      )
      assert(reused(twice) > 0)
      assert(partitions(twice).toSet == Set(201))
      // The subquery's plan has no join.
      val subquery = asShared(
        "WITH s AS (SELECT k, sum(id) AS t FROM fact WHERE k IS NOT NULL GROUP BY k) " +
          "SELECT d.label, s.t FROM s JOIN dim d ON s.k = d.k WHERE s.t = (SELECT max(t) FROM s)"
      )
      assert(reused(subquery) > 0, executed(subquery))
      assert(partitions(subquery).toSet == Set(201))
    }
  }

  test("the build side that dynamic partition pruning reads is still found") {
    table("byDay", "SELECT id, id % 7 AS day FROM range(5000)", partitionBy = Seq("day"))
    conf("spark.sql.shuffle.partitions" -> "110") {
      val df = asShared(
        "SELECT count(*) FROM byDay f JOIN (SELECT day, max(week) AS w FROM days WHERE week < 2 GROUP BY day) d " +
          "ON f.day = d.day WHERE d.w = 1"
      )
      assert(partitions(df).contains(201))
    }
  }

  test("range partitioning, outer joins, unions and cached tables", Slow) {
    conf(partitioned: _*) {
      val joined = "SELECT f.id, d.label FROM fact f FULL JOIN dim d ON f.k = d.k AND d.label > 3"
      assert(partitions(same(joined)).toSet == Set(201))
      assert(partitions(same(s"$joined ORDER BY 1, 2")).toSet == Set(201))
      assert(partitions(same(s"$joined UNION ALL SELECT max(id), k FROM fact GROUP BY k")).toSet == Set(201))
      spark.sql("CACHE TABLE kept AS SELECT k, count(*) AS n FROM fact GROUP BY k")
      val cached = asShared("SELECT sum(n), max(d.label) FROM kept JOIN dim d ON kept.k = d.k")
      assert(partitions(cached).nonEmpty)
    }
  }

  test("what a file and a row cost") {
    assert(ShuffleWriteCost.saved(rows = 300e3, tasks = 19, partitions = 200) > 2e9)
    assert(ShuffleWriteCost.saved(rows = 60e6, tasks = 19, partitions = 200) < 0)
  }
}

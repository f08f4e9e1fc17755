package org.apache.spark.sql.springbok.rules.runtimefilters.resolve

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.springbok.{Slow, Smoke, SparkFeatures, SpringbokTest}
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.keys.TriedKey

/** Keys that are a column plus or minus a constant: the scan skips what the column cannot have. */
class LinearKeySuite extends SpringbokTest {
  override protected def sessionConf: Map[String, String] =
    super.sessionConf ++ shuffled + (FilterConf.WAIT.key -> "ALWAYS")

  private val rows = 30000L

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    val columns = "id AS big, CAST(id AS INT) AS num, CAST(id AS SMALLINT) AS small, " +
      "date_add(DATE'2000-01-01', CAST(id AS INT)) AS day"
    val withNulls = "IF(id % 97 = 0, NULL, CAST(id AS INT)) AS gaps"
    table("fact", s"SELECT id AS v, $columns, $withNulls FROM range(0, $rows, 1, 1)", groupRows = Some(3000))
    table("dim", s"SELECT id AS g, $columns, -CAST(id AS INT) AS minus FROM range(0, $rows, 1, 1)")
    val parts = "CAST(id % 50 AS INT) AS p, date_add(DATE'2000-01-01', CAST(id % 50 AS INT)) AS pday"
    table("parts", s"SELECT id AS v, $parts FROM range(0, 10000, 1, 1)", partitionBy = Seq("p"))
    table("dayparts", s"SELECT id AS v, $parts FROM range(0, 10000, 1, 1)", partitionBy = Seq("pday"))
    table(
      "ends",
      "SELECT id AS v, IF(id = 29999, 2147483647, CAST(id AS INT)) AS num FROM range(0, 30000, 1, 1)"
    )
    spark.sql(
      "CREATE TABLE by_num USING parquet CLUSTERED BY (num) INTO 16 BUCKETS AS SELECT CAST(id % 2000 AS INT) AS num, id AS v FROM range(40000)"
    ): Unit
    spark
      .range(0, 200000, 1, 1)
      .selectExpr("id AS k", "CAST(id AS INT) AS num", "id AS v")
      .write
      .option("orc.stripe.size", "20000")
      .orc(folder.resolve("stripes").toString)
    spark.read.orc(folder.resolve("stripes").toString).createOrReplaceTempView("stripes")
  }

  override protected def afterAll(): Unit =
    try spark.sql("DROP TABLE by_num"): Unit
    finally super.afterAll()

  private def why(df: DataFrame) =
    record(df).filters.all.map(f => (f.sourceKey, f.state, f.kinds, f.reason.text, f.effect))

  private val modes = Seq(true, false).map(m => "spark.sql.ansi.enabled" -> m.toString)

  private def few(where: String) = s"(SELECT * FROM dim WHERE $where) d"

  /** A query whose filter is pushed to the files, of which it skips most. */
  private def skips(sql: String, all: Long = rows): DataFrame = {
    val df = same(sql)
    assert(df.collect().head.getLong(0) > 0, "the query has no rows")
    assert(told(df).exists(_.isRight), (why(df), executed(df)))
    assert(scanRows(df, "v") <= all / 2, (scanRows(df, "v"), why(df)))
    df
  }

  for (
    mode <- modes;
    (on, where) <- Seq(
      "f.num + 1 = d.num" -> "g BETWEEN 4000 AND 4008",
      "1 + f.num = d.num" -> "g BETWEEN 4000 AND 4100",
      "f.num - 1 = d.num" -> "g IN (4000, 9000)",
      "20000 - f.num = d.num" -> "g BETWEEN 15000 AND 15100",
      "-f.num = d.minus" -> "g BETWEEN 15000 AND 15100",
      "f.num + 100000 = d.num + 99990" -> "g BETWEEN 15000 AND 15100",
      "f.num + 1 = d.big" -> "g BETWEEN 4000 AND 4008",
      "f.num + 1L = d.big" -> "g BETWEEN 4000 AND 4008",
      "f.big - 5 = d.num" -> "g BETWEEN 4000 AND 4008",
      "f.small + 1 = d.num" -> "g BETWEEN 4000 AND 4008",
      "f.gaps + 1 = d.num" -> "g BETWEEN 4000 AND 4200",
      "date_add(f.day, 7) = d.day" -> "g BETWEEN 4000 AND 4008",
      "date_sub(f.day, 7) = d.day" -> "g BETWEEN 4000 AND 4100",
      "f.day + INTERVAL '3' DAY = d.day" -> "g BETWEEN 4000 AND 4100",
      "date_add(DATE'2000-01-01', f.num) = d.day" -> "g BETWEEN 4000 AND 4008"
    )
  )
    test(s"$on, $where, ANSI ${mode._2}") {
      conf(mode) {
        val df = skips(s"SELECT /*+ MERGE(d) */ count(*), sum(f.v) FROM fact f JOIN ${few(where)} ON $on")
        val groups = used(df).flatMap(_.effect.rowGroups)
        assert(groups.nonEmpty && groups.forall(_._1 >= 7), why(df))
      }
    }

  test("a range of keys that are too many to be listed", Smoke) {
    for (mode <- modes)
      conf(mode, FilterConf.IN_LIMIT.key -> "10") {
        val where = "g BETWEEN 4000 AND 4900"
        skips(
          s"SELECT /*+ MERGE(d) */ count(*), sum(f.v) FROM fact f JOIN ${few(where)} ON f.num + 1 = d.num"
        ): Unit
      }
  }

  test("a cast to a narrower type, in ANSI mode") {
    conf("spark.sql.ansi.enabled" -> "true") {
      val on = "CAST(f.big AS INT) + 1 = d.num"
      skips(
        s"SELECT /*+ MERGE(d) */ count(*), sum(f.v) FROM fact f JOIN ${few("g BETWEEN 4000 AND 4100")} ON $on"
      ): Unit
    }
  }

  test("partitions") {
    for (
      mode <- modes;
      (from, on) <- Seq(
        "parts" -> "f.p + 1 = d.num",
        "parts" -> "60 - f.p = d.num",
        "dayparts" -> "f.pday - 1 = d.day"
      )
    )
      conf(mode, "spark.sql.optimizer.dynamicPartitionPruning.enabled" -> "false") {
        val df = skips(
          s"SELECT /*+ MERGE(d) */ count(*), sum(f.v) FROM $from f JOIN ${few("g BETWEEN 20 AND 22")} ON $on",
          all = 10000
        )
        assert(scanRows(df, "v") == 600, why(df))
      }
  }

  test("buckets") {
    for (mode <- modes; on <- Seq("f.num + 1 = d.num", "f.num + 1L = d.big"))
      conf(mode) {
        val df = skips(
          s"SELECT /*+ MERGE(d) */ count(*), sum(f.v) FROM by_num f JOIN ${few("g BETWEEN 5 AND 6")} ON $on",
          all = 40000
        )
        assert(used(df).exists(_.kinds.contains("buckets")), why(df))
      }
  }

  test("ORC") {
    for (mode <- modes; on <- Seq("f.num + 100 = d.num", "f.k - 1 = d.big"))
      conf(mode) {
        val where = "g BETWEEN 4000 AND 4008 OR g BETWEEN 14000 AND 14100"
        skips(
          s"SELECT /*+ MERGE(d) */ count(*), sum(f.v) FROM stripes f JOIN ${few(where)} ON $on",
          all = 200000
        ): Unit
      }
  }

  test("comparisons", Slow) {
    for ((name, from) <- Seq("low" -> 2000, "high" -> 25000))
      table(name, s"SELECT CAST(id AS INT) AS num, -CAST(id AS INT) AS minus FROM range($from, $from + 101)")
    for (
      mode <- modes;
      on <- Seq(
        "f.num + 1 < d.num",
        "f.num - 1 <= d.num",
        "29999 - f.num < d.num",
        "d.num > f.num + 50L",
        "-f.num < d.minus"
      )
    )
      conf(mode) {
        val side = if (on.startsWith("-")) "high" else "low"
        skips(s"SELECT /*+ BROADCAST(d) */ count(*), sum(f.v) FROM fact f JOIN $side d ON $on"): Unit
      }
  }

  test("columns that files lack or have in a narrower type") {
    assume(SparkFeatures.readsWiderDecimals)
    val path = folder.resolve("evolved").toString
    spark.sql("SELECT CAST(id AS INT) AS num, id AS v FROM range(0, 5000, 1, 1)").write.parquet(path)
    spark.sql("SELECT id AS v FROM range(5000, 9000, 1, 1)").write.mode("append").parquet(path)
    spark.read.schema("num BIGINT, v BIGINT").parquet(path).createOrReplaceTempView("evolved")
    for (mode <- modes; where <- Seq("g BETWEEN 40 AND 48", "g BETWEEN 20000 AND 20008"))
      conf(mode)(
        same(s"SELECT /*+ MERGE(d) */ f.v, d.g FROM evolved f JOIN ${few(where)} ON f.num + 1 = d.big")
      )
  }

  test("below a group") {
    conf("spark.sql.ansi.enabled" -> "true") {
      def grouped(from: String) =
        s"SELECT /*+ MERGE(d) */ f.num, f.n FROM (SELECT num, count(v) n FROM $from GROUP BY num) f " +
          s"JOIN ${few("g BETWEEN 4000 AND 4008")} ON f.num + 1 = d.num"
      val df = same(grouped("fact"))
      assert(applied(df).nonEmpty && applied(df).forall(f => TriedKey.is(f.key)), why(df))
      assert(scanRows(df, "v") <= rows / 2, why(df))
      // One value of the table overflows: its group is left, and the query fails as without the filter.
      assert(intercept[Exception](off(spark.sql(grouped("ends")).collect())).toString.nonEmpty)
      val fails = spark.sql(grouped("ends"))
      assert(intercept[Exception](fails.collect()).toString.nonEmpty)
      assert(applied(fails).nonEmpty, why(fails))
    }
  }

  test("rows in no fixed order") {
    spark.sql("CACHE TABLE spread AS SELECT /*+ REPARTITION(2, num) */ num, v FROM fact"): Unit
    for (mode <- modes)
      conf(mode) {
        val df = same(
          s"SELECT /*+ MERGE(d) */ f.v, d.g FROM spread f JOIN ${few("g BETWEEN 4000 AND 4008")} ON f.num + 1 = d.num"
        )
        assert(passed(df) == 9, why(df))
      }
    spark.sql("UNCACHE TABLE spread"): Unit
  }

  test("without generated code") {
    for (mode <- modes)
      conf(mode, "spark.sql.codegen.wholeStage" -> "false", "spark.sql.codegen.factoryMode" -> "NO_CODEGEN") {
        val side = few("g BETWEEN 4000 AND 4008")
        skips(s"SELECT /*+ MERGE(d) */ count(*), sum(f.v) FROM fact f JOIN $side ON f.num + 1 = d.num"): Unit
      }
  }

  test("an INT that is cast to BIGINT before it is added to cannot overflow") {
    conf("spark.sql.ansi.enabled" -> "true") {
      val df = skips(
        "SELECT /*+ MERGE(d) */ count(*), sum(f.n) FROM (SELECT num, count(v) n FROM fact GROUP BY num) f " +
          s"JOIN ${few("g BETWEEN 4000 AND 4008")} ON f.num + 1L = d.big"
      )
      assert(applied(df).nonEmpty && !applied(df).exists(f => TriedKey.is(f.key)), why(df))
    }
  }
}

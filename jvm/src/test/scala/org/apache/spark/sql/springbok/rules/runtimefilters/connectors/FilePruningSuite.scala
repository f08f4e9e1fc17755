package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.springbok.{Smoke, SpringbokTest}

/** What scans skip beyond Parquet's row groups and partitions: buckets, ORC stripes; and what Spark skips by itself. */
class FilePruningSuite extends SpringbokTest {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table(
      "keys",
      "SELECT id AS k, CAST(id AS INT) AS num, concat('s', id) AS s, id % 500 AS grp FROM range(2000)"
    )
    table("sorted", "SELECT id AS k, id * 2 AS v FROM range(0, 100000, 1, 1)", groupRows = Some(10000))
    for (by <- Seq("k", "num", "s", "d"))
      spark.sql(
        s"""CREATE TABLE by_$by USING parquet CLUSTERED BY ($by) INTO 16 BUCKETS AS
           |SELECT IF(id % 97 = 0, NULL, id % 2000) AS k, CAST(id % 2000 AS INT) AS num, concat('s', id % 2000) AS s,
           |CAST(id % 2000 AS DECIMAL(12,2)) AS d, id AS v FROM range(40000)""".stripMargin
      )
    val stripes = spark.range(0, 200000, 1, 1).selectExpr("IF(id % 97 = 0, NULL, id) AS k", "id AS v")
    stripes.write.option("orc.stripe.size", "20000").orc(folder.resolve("stripes").toString)
    spark.read.orc(folder.resolve("stripes").toString).createOrReplaceTempView("stripes")
  }

  override protected def afterAll(): Unit =
    try Seq("k", "num", "s", "d").foreach(by => spark.sql(s"DROP TABLE by_$by"))
    finally super.afterAll()

  private def why(df: DataFrame) = record(df).filters.all.map(f => (f.state, f.kinds, f.reason.text))

  for (by <- Seq("k", "num", "s"); bucketed <- Seq(true, false))
    test(s"buckets by $by without a key are not opened${if (bucketed) "" else ", read as plain files"}") {
      conf(shuffled :+ ("spark.sql.sources.bucketing.autoBucketedScan.enabled" -> (!bucketed).toString): _*) {
        val sql = s"SELECT count(*), sum(b.v) FROM by_$by b JOIN keys k ON b.$by = k.$by WHERE k.grp = 3"
        val df = same(sql)
        assert(used(df).exists(_.kinds.contains("buckets")), why(df))
        // At most 4 of 16 buckets.
        assert(scanRows(df, "v") < 20000, scanRows(df, "v"))
        // Without bucketing the names of its files mean nothing.
        conf("spark.sql.sources.bucketing.enabled" -> "false") {
          assert(!used(same(sql)).exists(_.kinds.contains("buckets")))
        }
      }
    }

  test("a key that is cast does not say in which bucket it is, and those that a query names stay pruned") {
    conf(shuffled: _*) {
      val cast = same("SELECT count(*), sum(b.v) FROM by_d b JOIN keys k ON b.d = k.k WHERE k.grp = 3")
      assert(!used(cast).exists(_.kinds.contains("buckets")), why(cast))
      val some = "b.k IN (3, 503, 700, 1003)"
      val both =
        same(s"SELECT count(*), sum(b.v) FROM by_k b JOIN keys k ON b.k = k.k WHERE k.grp = 3 AND $some")
      assert(scanRows(both, "v") < 20000, why(both))
    }
  }

  test("a build side without keys opens no bucket") {
    conf(shuffled: _*) {
      val df = same(
        "SELECT count(*), sum(b.v) FROM by_k b JOIN keys k ON b.k = k.k WHERE k.grp = 3 AND k.s = 'none'"
      )
      assert(scanRows(df, "v") == 0, why(df))
    }
  }

  test("ORC stripes without a key are not read", Smoke) {
    conf(shuffled: _*) {
      val df = same("SELECT count(*), sum(f.v) FROM stripes f JOIN keys k ON f.k = k.k WHERE k.grp < 50")
      val skipped = used(df).flatMap(_.effect.rowGroups)
      assert(skipped.exists { case (removed, all) => removed > 0 && removed < all }, why(df))
      assert(scanRows(df, "v") < 150000, why(df))
    }
  }

  test("INTERSECT filters one side by the other, nulls included") {
    conf(shuffled: _*) {
      val df = same("SELECT k FROM by_num INTERSECT SELECT k FROM keys WHERE grp = 3")
      assert(used(df).nonEmpty, why(df))
      same("SELECT k FROM by_num INTERSECT SELECT if(k = 3, NULL, k) FROM keys WHERE grp = 3")
      same("SELECT k FROM keys EXCEPT SELECT k FROM by_num WHERE num < 900")
    }
  }

  test("a comparison with a scalar subquery prunes by Spark alone, as without Springbok") {
    val sql = "SELECT count(*), sum(v) FROM sorted WHERE k > (SELECT max(k) + 90000 FROM keys)"
    def read(df: DataFrame) = { df.collect(); scanRows(df, "v") }
    val df = same(sql)
    assert(scanRows(df, "v") == off(read(spark.sql(sql))))
    // Scans of Spark 3.5 do not hand the value of a subquery to the reader of their files.
    if (SPARK_VERSION >= "4.0") assert(scanRows(df, "v") <= 10000)
  }

  test("a scalar subquery per row is a join, and its keys are a filter") {
    conf(shuffled: _*) {
      val df = same(
        "SELECT count(*) FROM keys o WHERE o.grp = 3 AND o.num * 3 > (SELECT max(s.v) FROM sorted s WHERE s.k = o.k)"
      )
      assert(used(df).nonEmpty && scanRows(df, "v") < 100000, why(df))
    }
  }
}

package org.apache.spark.sql.springbok.rules.runtimefilters.resolve

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.springbok.{Slow, SpringbokTest}
import org.apache.spark.sql.springbok.conf.FilterConf

/** Keys that are a column plus or minus a constant, at the ends of the column's type, where they overflow. */
class LinearKeyEndsSuite extends SpringbokTest {
  override protected def sessionConf: Map[String, String] =
    super.sessionConf ++ shuffled + (FilterConf.WAIT.key -> "ALWAYS")

  private def why(df: DataFrame) =
    record(df).filters.all.map(f => (f.sourceKey, f.state, f.kinds, f.reason.text, f.effect))

  private val types = Seq("TINYINT" -> "Y", "SMALLINT" -> "S", "INT" -> "", "BIGINT" -> "L")

  private def bounds(t: String): (String, String) = {
    val n = Map("TINYINT" -> 7, "SMALLINT" -> 15, "INT" -> 31, "BIGINT" -> 63)(t)
    ((-(BigInt(1) << n)).toString, ((BigInt(1) << n) - 1).toString)
  }

  /** Values around the ends of a type and 0, each in a row group of its own, or in a file where Parquet is too old for that. */
  private def ends(name: String, t: String): Unit = {
    val (low, high) = bounds(t)
    val wide = "DECIMAL(38,0)"
    val values =
      s"SELECT explode(transform(sequence(0, 5), i -> CAST($low AS $wide) + i)) AS x UNION ALL " +
        s"SELECT explode(transform(sequence(0, 5), i -> CAST($high AS $wide) - i)) UNION ALL " +
        s"SELECT explode(transform(sequence(-3, 3), i -> CAST(i AS $wide)))"
    val rows = s"SELECT CAST(x AS $t) AS x, row_number() OVER (ORDER BY x) AS v FROM ($values) ORDER BY x"
    if (SPARK_VERSION >= "4.0") table(name, rows, groupRows = Some(1))
    else {
      val path = folder.resolve(name).toString
      spark.sql(rows).coalesce(1).write.option("maxRecordsPerFile", "1").parquet(path)
      spark.read.parquet(path).createOrReplaceTempView(name)
    }
  }

  for ((t, suffix) <- types; on <- Seq("f.x + 2", "2 + f.x", "f.x - 2", "1 - f.x", "-f.x"))
    test(s"$on at the ends of $t") {
      val key = on.replaceAll("(\\d)", s"$$1$suffix")
      val name = s"${t}_ends".toLowerCase
      if (spark.catalog.tableExists(name)) () else ends(name, t)
      def sql(where: String, rows: String) =
        s"SELECT /*+ MERGE(d) */ f.v, f.x, d.v FROM (SELECT * FROM $name WHERE $rows) f " +
          s"JOIN (SELECT * FROM $name WHERE $where) d ON $key = d.x"
      val sides = Seq("v <= 4", "v >= 16", "v BETWEEN 8 AND 9", "v IN (1, 10, 19)")
      conf("spark.sql.ansi.enabled" -> "false") {
        for (where <- sides) {
          val df = same(sql(where, "v >= 0"))
          assert(told(df).exists(_.isRight), (where, why(df)))
        }
      }
      conf("spark.sql.ansi.enabled" -> "true") {
        // No key overflows here.
        for (where <- sides) same(sql(where, "v BETWEEN 4 AND 16")): Unit
        // Some row's key overflows, and the query fails with the filter as well.
        for (where <- sides) {
          assert(intercept[Exception](off(spark.sql(sql(where, "v >= 0")).collect())).toString.nonEmpty)
          val df = spark.sql(sql(where, "v >= 0"))
          val error = intercept[Exception](df.collect())
          val texts = Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).map(_.toString)
          assert(texts.exists(_.toLowerCase.contains("overflow")), error)
          assert(told(df).exists(_.isRight), (where, why(df)))
        }
      }
    }

  test("days at the ends of what dates can be", Slow) {
    val days = Seq(
      "-2147483648",
      "-2147483640",
      "-800000",
      "-141428",
      "-141427",
      "0",
      "9",
      "2932896",
      "2932897",
      "2147483640",
      "2147483647"
    )
    table(
      "far_days",
      s"SELECT date_add(DATE'1970-01-01', CAST(n AS INT)) AS x, n AS v FROM (SELECT explode(array(${days.mkString(", ")})) AS n)",
      groupRows = Some(1)
    )
    for (
      ansi <- Seq("true", "false"); key <- Seq("date_add(f.x, 9)", "date_sub(f.x, 9)");
      where <- Seq("v < -3", "v >= 0", "v > 3000000")
    )
      conf("spark.sql.ansi.enabled" -> ansi) {
        same(
          "SELECT /*+ MERGE(d) */ f.v, d.v FROM far_days f JOIN " +
            s"(SELECT date_add(x, 9) AS x, v FROM far_days WHERE $where UNION ALL " +
            s"SELECT date_sub(x, 9), v FROM far_days WHERE $where) d ON $key = d.x"
        )
      }
  }
}

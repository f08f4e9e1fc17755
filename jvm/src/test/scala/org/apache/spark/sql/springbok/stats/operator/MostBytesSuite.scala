package org.apache.spark.sql.springbok.stats.operator

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.springbok.SpringbokTest
import org.scalatest.Assertion
import org.scalatest.concurrent.TimeLimits
import org.scalatest.time.{Seconds, Span}

/** The bound on the bytes of rows holds, and is there for what is usually broadcast. */
class MostBytesSuite extends SpringbokTest with TimeLimits {
  private val texts =
    "SELECT id AS k, id % 10 AS g, if(id % 100 = 0, repeat(uuid(), 30), NULL) AS rare, " +
      "concat('name ', id % 7) AS few, concat('name ', id) AS many FROM range(3000)"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("texts", texts)
    table("names", "SELECT id AS n, concat('a name ', id) AS name FROM range(10)")
  }

  private def most(sql: String): Option[Double] =
    new PlanStats().mostBytes(execution(spark.sql(sql)).optimizedPlan)

  private def bytes(sql: String): Double = execution(spark.sql(sql)).toRdd
    .map(_.asInstanceOf[UnsafeRow].getSizeInBytes.toDouble)
    .fold(0)(_ + _)

  /** Asserts that the bytes are bounded, by at most so many times what they are. */
  private def bounded(sql: String, slack: Double = 8): Assertion = {
    val (actual, bound) = (bytes(sql), most(sql))
    assert(bound.exists(b => b >= actual && b <= actual * slack), s"$sql: $actual, $bound")
  }

  test("the columns of a table, what is left of them, and what is made of them") {
    bounded("SELECT * FROM texts")
    bounded("SELECT k, cast(g AS DECIMAL(38, 2)) AS d, make_interval(1, 2, 3, 4) AS i FROM texts")
    // The filter retains the long ones.
    bounded("SELECT k, rare FROM texts WHERE rare IS NOT NULL", slack = 100)
    bounded("SELECT k, concat(many, '-', few, cast(k AS STRING)) AS x FROM texts")
    bounded("SELECT k, coalesce(rare, many) AS x, upper(substring(many, 2, 5)) AS y FROM texts", slack = 20)
    bounded("SELECT k, CASE WHEN k > 5 THEN many WHEN k > 3 THEN 'some text' ELSE few END AS x FROM texts")
    bounded("SELECT many FROM texts UNION ALL SELECT few FROM texts")
    bounded("SELECT many, row_number() OVER (ORDER BY k) AS r FROM texts")
    bounded("SELECT DISTINCT many FROM texts ORDER BY many LIMIT 3000")
    bounded("SELECT many, few, count(*) FROM texts GROUP BY ROLLUP (many, few)")
  }

  // Each step lists its column four times, so the columns to follow once doubled and doubled.
  test("a column that is computed from itself again and again has no bound, and takes no time") {
    val step = (from: String, i: Int) =>
      s"SELECT k, CASE WHEN length(s) > $i THEN upper(s) ELSE s END AS s FROM ($from)"
    val steps = (1 to 14).foldLeft("SELECT k, many AS s FROM texts")(step)
    val plan = execution(spark.sql(steps)).optimizedPlan
    failAfter(Span(60, Seconds))(assert(new PlanStats().mostBytes(plan).isEmpty))
    bounded(step("SELECT k, many AS s FROM texts", 1))
  }

  test("groups hold values of their rows") {
    bounded("SELECT g, max(rare) AS x, min(many) AS y FROM texts GROUP BY g", slack = 1000)
    bounded("SELECT many, count(*) FROM texts GROUP BY many")
  }

  test("a join with one match at most repeats nothing, and any other may repeat the longest value") {
    bounded("SELECT t.many, n.n FROM texts t JOIN names n ON t.g = n.n")
    bounded("SELECT many FROM texts LEFT SEMI JOIN names ON g = n")
    bounded("SELECT t.k, n.name FROM texts t JOIN names n ON t.g = n.n", slack = 20)
    bounded("SELECT t.many, s.m FROM texts t CROSS JOIN (SELECT max(n) AS m FROM names) s")
  }

  test("what is computed otherwise is not bounded") {
    val longer = Seq(
      "rpad(many, 4000, ' ')",
      "repeat(many, k)",
      "array_repeat(many, 5)",
      "sequence(0, k)",
      "to_json(struct(many))",
      "replace(many, 'n', 'some more')",
      "concat(rpad(many, k, ' '), few)",
      "array(k, g)"
    )
    for (x <- longer) assert(most(s"SELECT k, $x AS x FROM texts").isEmpty, x)
    for (x <- Seq("collect_list(many)", "concat_ws(',', collect_set(many))"))
      assert(most(s"SELECT g, $x AS x FROM texts GROUP BY g").isEmpty, x)
    assert(most("SELECT lag(many) OVER (ORDER BY k) AS x FROM texts").isEmpty)
    // Not of what is not part of the rows.
    bounded("SELECT k FROM texts WHERE length(rpad(many, 4000, ' ')) > 10")
  }

  // Stored bytes say nothing of the bytes of values that a dictionary stores once. Writers up to Spark 3.5 do not count them.
  test("texts in a dictionary, one of which is far longer than the smallest and the largest") {
    val path = folder.resolve("listed").toString
    val long =
      "SELECT id AS k, if(id % 3 = 0, 'a', if(id % 3 = 1, repeat('m', 2000), 'z')) AS t FROM range(3000)"
    spark.sql(long).repartition(2).write.parquet(path)
    bounded(s"SELECT k, t FROM parquet.`$path`")
    conf("spark.springbok.stats.footers.maxFiles" -> "1")(
      assert(most(s"SELECT k, t FROM parquet.`$path`").isEmpty)
    )
  }

  test("other sources that have counted the bytes of their values") {
    val orc = folder.resolve("orc").toString
    spark.sql(texts).write.orc(orc)
    bounded(s"SELECT k, many FROM orc.`$orc`")
    val parts = folder.resolve("parts").toString
    spark
      .sql("SELECT id AS k, concat('part ', id % 3) AS p FROM range(3000)")
      .write
      .partitionBy("p")
      .parquet(parts)
    bounded(s"SELECT k, p FROM parquet.`$parts`")
    spark.sql(
      "CACHE TABLE cached AS SELECT k, array_repeat(many, 5) AS a, rpad(many, 300, ' ') AS t FROM texts"
    ): Unit
    bounded("SELECT * FROM cached")
    spark.sql("UNCACHE TABLE cached"): Unit
    spark.sql(
      "CREATE TABLE analyzed USING csv AS SELECT id AS k, concat('row ', id) AS t FROM range(3000)"
    ): Unit
    assert(most("SELECT * FROM analyzed").isEmpty)
    spark.sql("ANALYZE TABLE analyzed COMPUTE STATISTICS FOR ALL COLUMNS"): Unit
    bounded("SELECT * FROM analyzed")
    spark.sql("DROP TABLE analyzed"): Unit
  }
}

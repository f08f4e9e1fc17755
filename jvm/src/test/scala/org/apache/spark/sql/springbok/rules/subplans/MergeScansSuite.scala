package org.apache.spark.sql.springbok.rules.subplans

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.springbok.{Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.catalyst.SparkSubplans
import org.apache.spark.sql.springbok.conf.SubplanConf
import org.scalatest.Assertion

class MergeScansSuite extends SpringbokTest {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table(
      "sales",
      "SELECT id, id % 100 AS q, CAST(id % 997 AS DECIMAL(7,2)) AS price, IF(id % 11 = 0, NULL, id % 13) AS n," +
        " id % 50 AS d, IF(id % 3 = 0, double('NaN'), -0.0D) AS x, repeat('t', 40) AS t1, repeat('u', 40) AS t2," +
        " repeat('v', 40) AS t3, repeat('w', 40) AS t4 FROM range(20000)",
      groupRows = Some(1000)
    )
    table("dims", "SELECT id AS d, id % 5 AS g FROM range(50)")
  }

  /** Scans that run, those of each subquery counted once. */
  private def scans(df: DataFrame, of: String): Int =
    collectWithSubqueries(executed(df)) { case s: FileSourceScanExec => s }
      .filter(_.relation.location.rootPaths.exists(_.getName == of))
      .map(_.canonicalized)
      .distinct
      .size

  /** The scans of a table with the rule and without it, of a query that answers the same. */
  private def read(sql: String, of: String = "sales"): (Int, Int) = {
    val merged = scans(same(sql), of)
    merged -> conf(SubplanConf.MERGE.key -> "false")(scans(same(sql), of))
  }

  private def merges(sql: String, of: String = "sales"): Assertion = {
    val (on, off) = read(sql, of)
    assert(on == 1 && off > 1 || !SparkSubplans.exist, s"$on and $off scans: $sql")
  }

  private def stays(sql: String): Assertion = {
    val (on, off) = read(sql)
    assert(on == off, sql)
  }

  test("scalar subqueries with different filters read their table once", Smoke) {
    merges(
      "SELECT (SELECT count(price) FROM sales WHERE q < 20), (SELECT avg(price) FROM sales WHERE q BETWEEN 40 AND 60)," +
        " (SELECT sum(price) FROM sales WHERE q > 80)"
    )
  }

  test("aggregates without groups that are joined with each other read their table once") {
    merges(
      "SELECT * FROM (SELECT count(n) a, count(DISTINCT n) b, avg(price) c FROM sales WHERE q < 20 AND n < 5)," +
        " (SELECT count(n) d, count(DISTINCT n) e, avg(price) f FROM sales WHERE q >= 90 OR n = 7)"
    )
  }

  test("filters on a side of a join, nulls, NaN, -0.0, and filters that no row passes") {
    def counted(where: String) = s"(SELECT count(*) FROM sales s JOIN dims m ON s.d = m.d WHERE $where)"
    merges(
      s"SELECT ${counted("m.g = 1")}, ${counted("m.g = 2")}, ${counted("m.g = 3")}",
      of = "dims"
    )
    merges(
      "SELECT (SELECT max(x) FROM sales WHERE n IS NULL), (SELECT min(x) FROM sales WHERE n > 3), (SELECT sum(n) FROM" +
        " sales WHERE n > 100), (SELECT count(*) FROM sales WHERE n <=> NULL AND x < 1)"
    )
  }

  test("an expression that may fail on the rows of another aggregate keeps its own scan") {
    val divided =
      "SELECT (SELECT sum(100 DIV n) FROM sales WHERE n > 0), (SELECT count(*) FROM sales WHERE n = 0)"
    stays(divided)
    stays(
      "SELECT (SELECT max(y) FROM (SELECT 100 DIV n AS y FROM sales WHERE n > 0)), (SELECT count(*) FROM sales WHERE n = 0)"
    )
    stays(
      "SELECT (SELECT count(*) FROM sales WHERE q < 20 AND rand() * 2 < 3), (SELECT sum(n) FROM sales WHERE q > 80)"
    )
  }

  test("many columns of few rows are not read with few columns of many rows") {
    val wide = "max(t1) || max(t2) || max(t3) || max(t4)"
    stays(s"SELECT (SELECT $wide FROM sales WHERE id < 100), (SELECT sum(n) FROM sales WHERE q > 10)")
    merges("SELECT (SELECT max(t1) FROM sales WHERE id < 9000), (SELECT max(t1) FROM sales WHERE q > 10)")
  }

  test("queries with a CTE that is read twice, limits, writes and outer joins of aggregates") {
    val both = "(SELECT count(*) FROM sales WHERE q < 20) AS a, (SELECT sum(n) FROM sales WHERE q > 80) AS b"
    merges(s"SELECT * FROM (SELECT $both) LIMIT 1")
    same(s"WITH c AS (SELECT d, $both FROM dims) SELECT count(*) FROM c x JOIN c y ON x.a = y.a"): Unit
    spark.sql(s"CREATE TABLE written USING parquet AS SELECT $both"): Unit
    assert(sorted(spark.table("written").collect()) == sorted(off(spark.sql(s"SELECT $both").collect())))
    spark.sql("DROP TABLE written")
  }
}

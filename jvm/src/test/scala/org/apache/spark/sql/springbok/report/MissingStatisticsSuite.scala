package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.report.model.TableEntry

class MissingStatisticsSuite extends SpringbokTest {
  private def entries(sql: String): Seq[TableEntry] = SpringbokReport.of(execution(spark.sql(sql))).tables
  private def statements(sql: String): Seq[String] = entries(sql).flatMap(_.analyze).distinct

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    spark.sql("CREATE DATABASE IF NOT EXISTS sales"): Unit
    // Columns of CSV files have no statistics of their own.
    spark.sql(
      "CREATE TABLE sales.orders USING csv AS SELECT id AS k, id % 7 AS `the g`, 'x' AS t FROM range(100)"
    )
    spark.sql("CREATE TABLE plain USING csv AS SELECT id AS k FROM range(100)")
    table("files", "SELECT id AS k FROM range(100)"): Unit
  }

  override protected def afterAll(): Unit = {
    spark.sql("DROP DATABASE sales CASCADE"): Unit
    super.afterAll()
  }

  test(
    "the statement names the database, the table and the join columns, and what it collects is no longer missing"
  ) {
    val sql =
      "SELECT count(*) FROM sales.orders s JOIN plain p ON s.k = p.k AND s.`the g` = p.k WHERE s.t = 'x'"
    val before = statements(sql)
    assert(
      before.toSet == Set(
        "ANALYZE TABLE sales.orders COMPUTE STATISTICS FOR COLUMNS k, `the g`",
        "ANALYZE TABLE default.plain COMPUTE STATISTICS FOR COLUMNS k"
      )
    )
    assert(entries(sql).map(_.missingStatistics).toSet == Set(Seq("k", "the g"), Seq("k")))
    before.foreach(spark.sql(_))
    assert(
      statements(sql).isEmpty && entries(sql).forall(t => t.missingStatistics.isEmpty && t.rows.nonEmpty)
    )
  }

  test("a table that is read twice is analyzed once, with the columns of both") {
    spark.sql("CREATE TABLE twice USING csv AS SELECT id AS a, id AS b FROM range(100)"): Unit
    val sql = "SELECT count(*) FROM twice x JOIN twice y ON x.a = y.b"
    assert(statements(sql) == Seq("ANALYZE TABLE default.twice COMPUTE STATISTICS FOR COLUMNS a, b"))
  }

  test(
    "columns of types that cannot be analyzed are left out, and tables that are in no catalog have no statement"
  ) {
    val arrays = "SELECT count(*) FROM arrays x JOIN arrays y ON x.a = y.a"
    spark.sql(
      "CREATE TABLE arrays USING json OPTIONS (multiLine 'true') AS SELECT array(id) AS a FROM range(100)"
    ): Unit
    assert(statements(arrays) == Seq("ANALYZE TABLE default.arrays COMPUTE STATISTICS"))
    spark.read.schema("k BIGINT").csv(folder.toString).createOrReplaceTempView("loose")
    assert(statements("SELECT count(*) FROM files f JOIN loose l ON f.k = l.k").isEmpty)
  }
}

package org.apache.spark.sql.springbok

import org.apache.spark.sql.DataFrame

/** The hint that replaces a query by its report. */
class ReportHintSuite extends SpringbokTest {
  private val from = "FROM fact f JOIN mid m ON f.k = m.k"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT id, id % 300 AS k FROM range(6000)")
    table("mid", "SELECT id AS k, id % 50 AS g FROM range(300)")
  }

  private def report(sql: String): String = report(spark.sql(sql))

  private def report(df: DataFrame): String = {
    assert(df.columns.toSeq == Seq(ReportHint.column))
    val rows = df.collect()
    assert(rows.length == 1)
    rows.head.getString(0)
  }

  private def ofJoin(json: String): Boolean =
    json.contains("\"left_keys\":[\"f.k\"]") || json.contains("\"joins\":[{")

  test("the report is that of the whole statement") {
    for (
      sql <- Seq(
        s"SELECT /*+ SPRINGBOK_REPORT */ g, count(*) $from GROUP BY g",
        s"SELECT /*+ SPRINGBOK_REPORT, BROADCAST(m) */ g, count(*) $from GROUP BY g HAVING count(*) > 1",
        // These once failed: the report has none of the query's columns.
        s"SELECT /*+ SPRINGBOK_REPORT */ g, count(*) AS n $from GROUP BY g ORDER BY n LIMIT 3",
        s"WITH m AS (SELECT * FROM mid) SELECT /*+ SPRINGBOK_REPORT */ g $from ORDER BY g LIMIT 3 OFFSET 1",
        s"SELECT /*+ SPRINGBOK_REPORT */ sum(g) OVER w $from WINDOW w AS (PARTITION BY g)"
      )
    ) assert(ofJoin(report(sql)), sql)
  }

  // The report was once written into the table.
  test("a statement that writes is not run") {
    spark.sql("CREATE TABLE written (text STRING) USING parquet")
    assert(ofJoin(report(s"INSERT INTO written SELECT /*+ SPRINGBOK_REPORT */ concat('n', g) $from")))
    assert(spark.table("written").count() == 0)
    report(s"CREATE TABLE made USING parquet AS SELECT /*+ SPRINGBOK_REPORT */ g $from")
    assert(!spark.catalog.tableExists("made"))
  }

  test("no parameter fails it, and no place") {
    for (
      parameter <- Seq(
        "x",
        "1",
        "null",
        "'nothing'",
        "'spark.springbok.runtimeFilter.mode=x'"
      )
    )
      assert(ofJoin(report(s"SELECT /*+ SPRINGBOK_REPORT($parameter) */ count(*) $from")), parameter)
    assert(
      report(s"SELECT /*+ SPRINGBOK_REPORT('spark.springbok.enabled=false') */ count(*) $from").contains(
        "is false"
      )
    )
    for (
      sql <- Seq(
        "SELECT * FROM mid m WHERE EXISTS (SELECT /*+ SPRINGBOK_REPORT */ 1 FROM fact f WHERE f.k = m.k + 200)",
        s"SELECT * FROM (SELECT /*+ SPRINGBOK_REPORT */ g $from) LIMIT 100",
        "SELECT * FROM mid m WHERE k IN (SELECT /*+ SPRINGBOK_REPORT */ k + 200 FROM fact)",
        "WITH f AS (SELECT * FROM fact) SELECT a.k FROM (SELECT /*+ SPRINGBOK_REPORT */ k FROM f WHERE k > 199) a " +
          "JOIN (SELECT DISTINCT k FROM f) b ON a.k = b.k"
      )
    ) assert(spark.sql(sql).count() > 99, sql)
  }
}

package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import java.sql.{Connection, DriverManager}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.RowDataSourceScanExec
import org.apache.spark.sql.springbok.{Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.conf.FilterConf

/** Tables of a database: which rows it sends, and that the answers are the same. */
class JdbcSuite extends SpringbokTest {
  private val url = "jdbc:h2:mem:springbok"

  /** Keeps the database alive. */
  private var connection: Connection = _

  private val options = Map("driver" -> "org.h2.Driver", "fetchsize" -> "1000")

  private def jdbc(name: String, more: (String, String)*): Unit =
    spark.read
      .format("jdbc")
      .options(options ++ Map("url" -> url, "dbtable" -> "fact") ++ more)
      .load()
      .createOrReplaceTempView(name)

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    connection = DriverManager.getConnection(url)
    connection
      .createStatement()
      .execute(
        """CREATE TABLE fact AS SELECT x AS "id", CAST(x / 10 AS INT) AS "tens", CAST(MOD(x, 100) AS SMALLINT) AS "s",
          |CAST(x AS DECIMAL(12, 2)) AS "price", 'c' || x AS "code", CASE WHEN MOD(x, 7) > 0 THEN x END AS "holes"
          |FROM SYSTEM_RANGE(0, 9999)""".stripMargin
      ): Unit
    jdbc("orders")
    table(
      "dim",
      """SELECT id AS k, id, CAST(id DIV 10 AS INT) AS tens, CAST(id % 100 AS SMALLINT) AS s,
        |CAST(id AS DECIMAL(12, 2)) AS price, concat('c', id) AS code, id AS holes, id % 3 AS grp FROM range(10000)""".stripMargin
    )
  }

  override protected def afterAll(): Unit = {
    connection.close()
    super.afterAll()
  }

  private def sent(df: DataFrame): Long = collectWithSubqueries(executed(df)) {
    case s: RowDataSourceScanExec =>
      s.metrics("numOutputRows").value
  }.sum

  private def why(df: DataFrame) = (told(df), record(df).filters.map(f => (f.state, f.reason.text)))

  private def joined(fact: String, column: String, where: String = "d.k BETWEEN 2000 AND 2063"): DataFrame =
    conf(shuffled: _*)(
      same(s"SELECT f.*, d.grp FROM $fact f JOIN dim d ON f.$column = d.$column WHERE $where")
    )

  for ((column, rows) <- Seq("id" -> 64, "tens" -> 70, "holes" -> 55))
    test(s"the database sends only rows that can join: $column", Smoke) {
      val df = joined("orders", column)
      assert(told(df) == Seq(Right("query")) && sent(df) == rows, (sent(df), why(df)))
    }

  test("more keys than a list holds become ranges") {
    val df = joined("orders", "id", "d.k BETWEEN 1000 AND 1909 OR d.k BETWEEN 7000 AND 7099")
    assert(used(df).head.kinds.head == "ranges" && sent(df) == 1010, why(df))
    conf(FilterConf.IN_LIMIT.key -> "10") {
      val bounded = joined("orders", "id", "d.k BETWEEN 1000 AND 2999")
      assert(told(bounded) == Seq(Right("query")) && sent(bounded) == 2000, why(bounded))
    }
  }

  test("a key of another width, and an outer join") {
    conf(shuffled: _*) {
      val df = same("SELECT f.id, d.grp FROM orders f JOIN dim d ON f.s = d.id WHERE d.k BETWEEN 50 AND 2063")
      assert(told(df) == Seq(Right("query")) && sent(df) == 5000, why(df))
      same("SELECT f.id, d.grp FROM dim d LEFT JOIN orders f ON f.id = d.id WHERE d.k BETWEEN 2000 AND 2063")
      same(
        "SELECT d.k FROM dim d WHERE d.k < 90 AND d.id NOT IN (SELECT holes FROM orders WHERE holes IS NOT NULL)"
      )
    }
  }

  test("the query's own conditions, its partitions and its column names stay") {
    jdbc(
      "parts",
      "partitionColumn" -> "id",
      "lowerBound" -> "0",
      "upperBound" -> "9999",
      "numPartitions" -> "4"
    )
    for (fact <- Seq("orders", "parts"))
      conf(shuffled: _*) {
        val df = same(
          s"""SELECT f.id, d.grp FROM (SELECT * FROM $fact WHERE s < 50 AND code LIKE 'c%') f JOIN dim d ON f.id = d.id
             |WHERE d.k BETWEEN 2000 AND 2199""".stripMargin
        )
        assert(told(df) == Seq(Right("query")) && sent(df) == 100, (sent(df), why(df)))
      }
  }

  test("other types are tested row by row") {
    for (column <- Seq("price", "code")) {
      val df = joined("orders", column)
      assert(
        told(df).map(_.left.map(_.code)) == Seq(Left("COMPARES_OTHERWISE")) && sent(df) == 10000,
        why(df)
      )
    }
  }

  test("who switched pushing off, or named other types, gets rows") {
    jdbc("unpushed", "pushDownPredicate" -> "false")
    jdbc("retyped", "customSchema" -> "price INT")
    for (fact <- Seq("unpushed", "retyped")) {
      val df = joined(fact, "id")
      assert(told(df).map(_.left.map(_.code)) == Seq(Left("SCAN_TAKES_NONE")) && sent(df) == 10000, why(df))
    }
  }

  test("scans with different filters are not taken for the same one") {
    conf(shuffled: _*) {
      same(
        """SELECT a.id FROM orders a JOIN dim d ON a.id = d.id WHERE d.k BETWEEN 10 AND 20
          |UNION ALL SELECT a.id FROM orders a JOIN dim d ON a.id = d.id WHERE d.k BETWEEN 30 AND 45""".stripMargin
      )
    }
  }
}

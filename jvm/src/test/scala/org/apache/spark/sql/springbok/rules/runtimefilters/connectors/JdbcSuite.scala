package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import java.sql.{Connection, DriverManager}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.Filter
import org.apache.spark.sql.execution.RowDataSourceScanExec
import org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog
import org.apache.spark.sql.springbok.Smoke
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.report.SpringbokReport

/** Tables of a database: which rows it sends, and that the answers are the same. */
class JdbcSuite extends FactAndDimTest {
  private val url = "jdbc:h2:mem:springbok"

  override protected def sessionConf: Map[String, String] = super.sessionConf ++ Map(
    "spark.sql.catalog.h2" -> classOf[JDBCTableCatalog].getName,
    "spark.sql.catalog.h2.url" -> url,
    "spark.sql.catalog.h2.driver" -> "org.h2.Driver"
  )

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

  for ((column, rows) <- Seq("id" -> 64, "tens" -> 70, "holes" -> 55))
    test(s"the database sends only rows that can join: $column", Smoke) {
      val df = joined("orders", column)
      assert(told(df) == Seq(Right("query")) && sent(df) == rows, (sent(df), why(df)))
    }

  test("a report has the conditions that the database evaluates") {
    val df = spark.sql(
      "SELECT f.id, d.grp FROM h2.PUBLIC.FACT f JOIN dim d ON f.id = d.id WHERE f.tens < 50 AND length(f.code) + f.id > 7"
    )
    val Some(fact) = SpringbokReport.of(execution(df)).tables.find(_.source == "connector"): @unchecked
    assert(fact.pushedFilters.contains("(tens < 50)"), fact)
    // Spark evaluates what is left in its plan.
    val left = execution(df).optimizedPlan.collect { case f: Filter => f.condition.sql }.mkString
    assert(
      fact.pushedFilters.exists(_.contains("length")) != left.contains("length"),
      (fact.pushedFilters, left)
    )
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

  test("keys that are a column plus or minus a constant") {
    for (
      ansi <- Seq("true", "false");
      (key, rows) <- Seq("f.id + 1" -> 64, "9999 - f.id" -> 64, "f.tens - 100" -> 640)
    )
      conf(shuffled :+ ("spark.sql.ansi.enabled" -> ansi): _*) {
        val df =
          same(s"SELECT f.id, d.grp FROM orders f JOIN dim d ON $key = d.id WHERE d.k BETWEEN 800 AND 863")
        assert(told(df) == Seq(Right("query")) && sent(df) == rows, (key, sent(df), why(df)))
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

  test("a table of a catalog", Smoke) {
    val df = joined("h2.PUBLIC.FACT", "id")
    assert(told(df) == Seq(Right("query")) && sent(df) == 64, (sent(df), why(df)))
    // With conditions of its own, and a second filter.
    conf(shuffled: _*) {
      val both = same(
        """SELECT f.id FROM h2.PUBLIC.FACT f JOIN dim d ON f.id = d.id JOIN dim e ON f.s = e.s
          |WHERE f.tens > 10 AND d.k BETWEEN 0 AND 2063 AND e.k BETWEEN 7 AND 9""".stripMargin
      )
      assert(told(both) == Seq(Right("query"), Right("query")) && sent(both) < 100, (sent(both), why(both)))
    }
  }

  test("what a database computes beyond rows is left alone") {
    conf(shuffled :+ ("spark.sql.catalog.h2.pushDownAggregate" -> "true"): _*) {
      for (
        fact <- Seq(
          "SELECT id, tens, count(*) FROM h2.PUBLIC.FACT GROUP BY id, tens",
          "SELECT * FROM h2.PUBLIC.FACT ORDER BY id LIMIT 100",
          "SELECT * FROM h2.PUBLIC.FACT LIMIT 100000"
        )
      )
        same(
          s"SELECT f.id, f.tens, d.grp FROM ($fact) f JOIN dim d ON f.id = d.id WHERE d.k BETWEEN 20 AND 63"
        )
    }
  }

  test("a table of a database has its name in the report") {
    val report = SpringbokReport.of(execution(joined("orders", "id")))
    assert(
      report.tables.exists(_.name.contains("fact")) && used(joined("orders", "id")).forall(
        _.targetTable.contains("fact")
      )
    )
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

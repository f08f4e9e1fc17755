package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.conf.ReportConf
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.report.model.{OutputEntry, QueryReport, ReasonEntry, SinkEntry}

/** The columns that a statement gives or writes, where their values come from, and where they go. */
class OutputSuite extends SpringbokTest {
  private val orders = "spark_catalog.default.orders"
  private val people = "spark_catalog.default.people"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    spark.sql(
      "CREATE TABLE orders USING parquet AS SELECT id, id % 100 AS who, id * 2.5D AS price, id % 3 AS kind FROM range(1000)"
    )
    spark.sql(
      "CREATE TABLE people USING parquet AS SELECT id, concat('name ', id) AS name, id % 7 AS town FROM range(100)"
    ): Unit
  }

  private def report(df: DataFrame): QueryReport = SpringbokReport.of(execution(df))

  /** The report of the last statement that ran. */
  private def last: QueryReport = ReportJson.read(LastReports.last(spark, 1).head)

  private def sources(r: QueryReport): Seq[(String, Seq[String])] = r.output.map(o => o.column -> o.sources)

  private val joined = "orders o JOIN people p ON o.who = p.id"

  test("a query's columns have names and types, and the columns of tables that they are computed from") {
    val r = report(
      spark.sql(
        s"SELECT town, sum(price * 2) AS total, count(*) AS n FROM $joined WHERE kind = 1 GROUP BY town HAVING max(o.id) > 7"
      )
    )
    assert(
      r.output == Seq(
        OutputEntry("town", "BIGINT", Seq(s"$people.town")),
        OutputEntry("total", "DOUBLE", Seq(s"$orders.price")),
        OutputEntry("n", "BIGINT", Nil)
      )
    )
    // The keys of the join and of the groups, and what WHERE and HAVING ask.
    assert(
      r.predicateSources ==
        Seq(s"$orders.id", s"$orders.kind", s"$orders.who", s"$people.id", s"$people.town")
    )
    assert(r.sink.isEmpty)
  }

  test("columns are followed through unions, common tables, subqueries, views, windows and generators") {
    spark.sql("CREATE VIEW named AS SELECT id AS pid, upper(name) AS label FROM people WHERE town > 1")
    def of(sql: String): (Seq[Seq[String]], Seq[String]) = {
      val r = report(spark.sql(sql))
      (r.output.map(_.sources), r.predicateSources)
    }
    assert(
      of("SELECT id FROM orders UNION ALL SELECT town FROM people") ==
        ((Seq(Seq(s"$orders.id", s"$people.town")), Nil))
    )
    assert(
      of("WITH t AS (SELECT id AS x, name AS y FROM people) SELECT a.y FROM t a JOIN t b ON a.x = b.x") ==
        ((Seq(Seq(s"$people.name")), Seq(s"$people.id")))
    )
    assert(
      of("SELECT kind, (SELECT max(name) FROM people p WHERE p.id = o.who) AS m FROM orders o") ==
        ((Seq(Seq(s"$orders.kind"), Seq(s"$people.name")), Seq(s"$orders.who", s"$people.id")))
    )
    assert(
      of("SELECT price FROM orders WHERE who IN (SELECT id FROM people WHERE town = 3)") ==
        ((Seq(Seq(s"$orders.price")), Seq(s"$orders.who", s"$people.id", s"$people.town")))
    )
    assert(of("SELECT label FROM named") == ((Seq(Seq(s"$people.name")), Seq(s"$people.town"))))
    assert(
      of("SELECT sum(price) OVER (PARTITION BY kind ORDER BY id) AS s FROM orders") ==
        ((Seq(Seq(s"$orders.price")), Seq(s"$orders.id", s"$orders.kind")))
    )
    assert(
      of("SELECT word FROM people LATERAL VIEW explode(split(name, ' ')) AS word") ==
        ((Seq(Seq(s"$people.name")), Nil))
    )
    assert(
      of("SELECT kind, who, sum(price) FROM orders GROUP BY ROLLUP (kind, who)") ==
        ((
          Seq(Seq(s"$orders.kind"), Seq(s"$orders.who"), Seq(s"$orders.price")),
          Seq(s"$orders.kind", s"$orders.who")
        ))
    )
    assert(
      of("SELECT name FROM people ORDER BY town LIMIT 3") == ((
        Seq(Seq(s"$people.name")),
        Seq(s"$people.town")
      ))
    )
    assert(of("SELECT name FROM people ORDER BY town")._2.isEmpty)
    assert(
      of("SELECT id FROM orders EXCEPT SELECT town FROM people") == ((
        Seq(Seq(s"$orders.id")),
        Seq(s"$people.town")
      ))
    )
  }

  test("files without a name are named by their format and path") {
    table("loose", "SELECT id, id + 1 AS v FROM range(10)")
    val r = report(spark.sql("SELECT v FROM loose"))
    val path = folder.resolve("loose").toUri.toString.stripSuffix("/").replaceFirst("^file:/+", "file:/")
    assert(r.output.head.sources == Seq(s"parquet.`$path`.v"))
  }

  test("INSERT INTO: the columns are those of the table, wherever the query's names differ") {
    spark.sql("CREATE TABLE sums (town BIGINT, total DOUBLE, day STRING) USING parquet PARTITIONED BY (day)")
    val write =
      s"INSERT INTO sums PARTITION (day) SELECT p.town AS a, sum(o.price) AS b, 'mon' AS c FROM $joined GROUP BY p.town"
    val expected = Seq("town" -> Seq(s"$people.town"), "total" -> Seq(s"$orders.price"), "day" -> Nil)
    for (r <- Seq(report(spark.sql(write)), last)) {
      assert(sources(r) == expected)
      val Some(s) = r.sink: @unchecked
      assert(s.mode == "append" && s.table.contains("spark_catalog.default.sums"))
      assert(s.format.contains("parquet") && s.path.exists(_.endsWith("/sums")))
      assert(s.partitionColumns == Seq("day"))
      // The report of a command that has run is that of its query.
      assert(
        r.joins.size == 1 && r.tables.flatMap(_.name) == Seq("orders", "people") && r.state == "executed"
      )
    }
  }

  test("INSERT OVERWRITE: of a whole table, of a partition, of those that the query gives") {
    spark.sql("CREATE TABLE days (v DOUBLE, day STRING) USING parquet PARTITIONED BY (day)")
    def mode(sql: String) = report(spark.sql(sql)).sink.map(_.mode)
    assert(mode("INSERT OVERWRITE days SELECT price, 'mon' FROM orders").contains("overwrite"))
    assert(
      mode("INSERT OVERWRITE days PARTITION (day = 'tue') SELECT price FROM orders").contains(
        "overwrite part"
      )
    )
    conf("spark.sql.sources.partitionOverwriteMode" -> "dynamic")(
      assert(mode("INSERT OVERWRITE days SELECT price, 'mon' FROM orders").contains("overwrite part"))
    )
  }

  test("CREATE TABLE AS SELECT and saveAsTable: the table and the columns that it gets") {
    val r = report(
      spark.sql(
        s"CREATE TABLE made USING parquet PARTITIONED BY (town) AS SELECT price AS p, town FROM $joined"
      )
    )
    assert(sources(r) == Seq("p" -> Seq(s"$orders.price"), "town" -> Seq(s"$people.town")))
    assert(r.predicateSources == Seq(s"$orders.who", s"$people.id"))
    assert(r.sink.exists(s => s.table.contains("spark_catalog.default.made") && s.mode == "create"))
    assert(r.sink.exists(s => s.format.contains("parquet") && s.partitionColumns == Seq("town")))
    spark.sql(s"SELECT price, name FROM $joined").write.saveAsTable("saved")
    assert(sources(last) == Seq("price" -> Seq(s"$orders.price"), "name" -> Seq(s"$people.name")))
    assert(last.sink.flatMap(_.path).exists(_.endsWith("/saved")))
  }

  test("files of a path") {
    val path = folder.resolve("out").toString
    spark.sql(s"SELECT price, name FROM $joined").write.mode("overwrite").partitionBy("name").parquet(path)
    assert(
      last.sink.contains(
        SinkEntry("overwrite", None, last.sink.flatMap(_.path), Some("parquet"), Seq("name"))
      )
    )
    assert(last.sink.flatMap(_.path).exists(_.endsWith(path)))
    assert(sources(last) == Seq("price" -> Seq(s"$orders.price"), "name" -> Seq(s"$people.name")))
  }

  test("before the command has run, its sink is known as well") {
    val plan =
      spark.sessionState.sqlParser.parsePlan(s"INSERT INTO people SELECT o.id, p.name, kind FROM $joined")
    val qe = spark.sessionState.executePlan(plan, org.apache.spark.sql.execution.CommandExecutionMode.SKIP)
    val r = SpringbokReport.of(qe)
    assert(r.state == "planned" && r.sink.exists(_.table.contains(people)))
    assert(sources(r).last == "town" -> Seq(s"$orders.kind"))
  }

  // Why a filter was not pushed to a scan once named the table in spite of the redaction.
  test("the texts of a filter are redacted, also why it was not pushed") {
    val r = report(spark.sql(s"SELECT /*+ RUNTIME_FILTER(p) */ name FROM $joined"))
    val named = ReasonEntry(Reason.columnNotFiltered("default.people"))
    val filters = r.filters.map(_.copy(notPushed = Some(named), reason = named))
    assert(filters.nonEmpty)
    conf("spark.sql.redaction.string.regex" -> "people") {
      for (f <- Redaction.of(spark)(r.copy(filters = filters)).filters; shown <- Seq(f.reason) ++ f.notPushed)
        assert(shown != named && !shown.text.contains("people") && !shown.args.toString.contains("people"))
    }
    conf("spark.sql.redaction.string.regex" -> "in no text")(assert(Redaction.of(spark)(r) == r))
  }

  test("paths lose the password that they hold, and names are redacted and show no literals") {
    import org.apache.spark.sql.springbok.catalyst.BaseTable
    assert(BaseTable.path("s3a://key:pass@bucket/x") == "s3a://bucket/x")
    assert(BaseTable.path("abfss://box@account.net/x") == "abfss://box@account.net/x")
    val sql = s"SELECT concat('secret', name), 4711 FROM $joined"
    conf("spark.sql.redaction.string.regex" -> "(?i)secret\\w*|people") {
      val json = SpringbokReport.json(execution(spark.sql(sql)))
      assert(!json.contains("secret") && !json.contains("default.people"), json)
    }
    conf(ReportConf.LITERALS.key -> "false") {
      val r = report(spark.sql(sql))
      assert(r.output.map(_.column) == Seq("concat(?, name)", "?"), r.output)
    }
  }
}

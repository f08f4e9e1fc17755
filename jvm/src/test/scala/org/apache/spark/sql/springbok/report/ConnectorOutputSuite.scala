package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.connector.catalog.InMemoryRowLevelOperationTableCatalog
import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.report.model.{QueryReport, SinkEntry}

/** What statements write to the tables of connectors, and where it comes from. */
class ConnectorOutputSuite extends SpringbokTest {
  override protected def sessionConf: Map[String, String] =
    super.sessionConf + ("spark.sql.catalog.mem" -> classOf[InMemoryRowLevelOperationTableCatalog].getName)

  private val people = "spark_catalog.default.people"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    spark.sql(
      "CREATE TABLE people USING parquet AS SELECT id, concat('name ', id) AS name, id % 7 AS town FROM range(100)"
    )
    spark.sql("CREATE TABLE mem.ns.target (pk INT NOT NULL, label STRING, town BIGINT) PARTITIONED BY (town)")
    spark.sql("INSERT INTO mem.ns.target VALUES (1, 'a', 1), (2, 'b', 2)"): Unit
  }

  private def report(sql: String): QueryReport = SpringbokReport.of(execution(spark.sql(sql): DataFrame))
  private def sources(r: QueryReport): Seq[(String, Seq[String])] = r.output.map(o => o.column -> o.sources)
  private def sink(r: QueryReport): SinkEntry = r.sink.get

  test("INSERT") {
    val append = report(
      "INSERT INTO mem.ns.target SELECT CAST(a.id AS INT), b.name, a.town FROM people a JOIN people b ON a.id = b.town"
    )
    assert(
      sources(append) == Seq(
        "pk" -> Seq(s"$people.id"),
        "label" -> Seq(s"$people.name"),
        "town" -> Seq(s"$people.town")
      )
    )
    assert(append.predicateSources == Seq(s"$people.id", s"$people.town"))
    assert(sink(append).mode == "append" && sink(append).table.contains("mem.ns.target"))
    assert(sink(append).partitionColumns == Seq("town"))
    val all =
      report("INSERT OVERWRITE mem.ns.target SELECT CAST(id AS INT), name, town FROM people WHERE id < 3")
    assert(sink(all).mode == "overwrite" && all.predicateSources == Seq(s"$people.id"))
    val part = report(
      "INSERT OVERWRITE mem.ns.target PARTITION (town = 1) SELECT CAST(id AS INT), name FROM people WHERE id < 3"
    )
    assert(sink(part).mode == "overwrite part" && sources(part).last == "town" -> Nil)
  }

  test("CREATE TABLE AS SELECT, and its replacement") {
    val made = report(
      "CREATE TABLE mem.ns.made PARTITIONED BY (town) AS SELECT name AS n, town FROM people WHERE id = 3"
    )
    assert(sink(made) == SinkEntry("create", Some("mem.ns.made"), None, None, Seq("town")))
    assert(sources(made) == Seq("n" -> Seq(s"$people.name"), "town" -> Seq(s"$people.town")))
    assert(made.predicateSources == Seq(s"$people.id"))
    assert(
      sink(
        report("CREATE OR REPLACE TABLE mem.ns.made AS SELECT name FROM people")
      ).mode == "create or replace"
    )
  }

  test("MERGE: each column has what its clauses set it to, and not itself where they keep it") {
    val r = report(
      """MERGE INTO mem.ns.target t USING (SELECT CAST(id AS INT) AS pk, name, town FROM people WHERE town < 4) s ON t.pk = s.pk
        |WHEN MATCHED AND t.label <> 'x' THEN UPDATE SET label = concat(t.label, s.name)
        |WHEN NOT MATCHED THEN INSERT (pk, label, town) VALUES (s.pk, s.name, 0)""".stripMargin
    )
    assert(
      sources(r) ==
        Seq("pk" -> Seq(s"$people.id"), "label" -> Seq("mem.ns.target.label", s"$people.name"), "town" -> Nil)
    )
    assert(
      r.predicateSources == Seq("mem.ns.target.label", "mem.ns.target.pk", s"$people.id", s"$people.town")
    )
    assert(sink(r).mode == "merge" && sink(r).table.contains("mem.ns.target"))
  }

  test("UPDATE and DELETE") {
    val update = report("UPDATE mem.ns.target SET label = concat(label, 'x') WHERE pk = 1")
    assert(
      sink(update).mode == "update" && sources(update).contains(
        "label" -> Seq("mem.ns.target.label", "mem.ns.target.pk")
      )
    )
    assert(sink(report("DELETE FROM mem.ns.target WHERE pk IN (SELECT id FROM people)")).mode == "delete")
  }
}

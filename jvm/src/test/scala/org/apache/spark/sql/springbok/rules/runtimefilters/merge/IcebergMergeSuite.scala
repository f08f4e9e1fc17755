package org.apache.spark.sql.springbok.rules.runtimefilters.merge

import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.springbok.SpringbokExtensions

/** MERGE into tables of Iceberg, by delete files and by files that are written anew. */
class IcebergMergeSuite extends MergeTest {
  override protected def sessionConf: Map[String, String] = super.sessionConf ++ Map(
    "spark.sql.extensions" -> Seq(
      "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
      classOf[SpringbokExtensions].getName
    ).mkString(","),
    "spark.sql.catalog.ice" -> "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.ice.type" -> "hadoop",
    "spark.sql.catalog.ice.warehouse" -> folder.resolve("iceberg").toString
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    spark.sql("CREATE NAMESPACE ice.db"): Unit
  }

  override protected def named(name: String): String = s"ice.db.$name"

  override protected def target(name: String, more: String): Unit = {
    val clauses = if (more.isEmpty) mode("merge-on-read") else more
    spark.sql(s"CREATE TABLE ice.db.$name USING iceberg $clauses AS SELECT $columns FROM range(0)")
    spark.sql(s"SELECT $columns FROM range(0, 10000, 1, 10)").writeTo(s"ice.db.$name").append()
  }

  private def mode(merge: String): String = s"TBLPROPERTIES ('write.merge.mode' = '$merge')"

  override protected def metrics(name: String): Map[String, String] =
    spark
      .sql(s"SELECT summary FROM ice.db.$name.snapshots ORDER BY committed_at DESC LIMIT 1")
      .head()
      .getMap[String, String](0)
      .toMap
      .filter { case (k, _) => k.endsWith("records") || k.endsWith("deletes") || k.startsWith("total-data-files") }

  override protected def filesRead(qe: QueryExecution): Long = collectWithSubqueries(qe.executedPlan) {
    case b: BatchScanExec => b.metrics.get("resultDataFiles").fold(0L)(_.value)
  }.sum

  private val rewrite = mode("copy-on-write")

  test("files are written anew") {
    for (source <- Seq("both", "few", "nulls")) {
      val m = merged(rewrite)(of(source))
      assert(m.code == "CONDITION_ADDED", m.reason)
    }
    assert(merged(rewrite)(of("twice")).rows.isLeft)
  }

  test("files are written anew, also for rows that are not matched by the source") {
    val m = merged(rewrite)(of("both", clauses = s"$upsert WHEN NOT MATCHED BY SOURCE AND t.id < 50 THEN DELETE"))
    assert(m.code == "TARGET_KEPT", m.reason)
  }

  for (merge <- Seq("copy-on-write", "merge-on-read"))
    test(s"partitioned tables, $merge") {
      val m = merged(s"PARTITIONED BY (day) ${mode(merge)}")(
        of("many", on = "t.code = lpad(s.k, 8, '0') AND date_add(DATE'2024-01-01', CAST(s.k DIV 100 AS INT)) = t.day")
      )
      assert(m.code == "CONDITION_ADDED" && m.reason.exists(_.text.contains("1 of day")), m.reason)
    }

  // Delta replaces it before.
  test("a source that depends on the time") {
    kept("SOURCE_KEPT", "expressions", "(SELECT * FROM many WHERE current_timestamp() > TIMESTAMP'2020-01-01 00:00:00')")
  }

  test("a source of Iceberg is read at one version") {
    target("source", "")
    added("(SELECT id AS k, code AS c FROM ice.db.source WHERE id BETWEEN 7000 AND 7100)")
  }
}

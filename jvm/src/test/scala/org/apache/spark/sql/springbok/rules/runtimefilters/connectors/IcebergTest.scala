package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.springbok.{SpringbokExtensions, SpringbokTest}

/** A session with a catalog `ice` of Iceberg, and tables in it. It needs Iceberg's jar only when it runs. */
abstract class IcebergTest extends SpringbokTest {
  override protected def sessionConf: Map[String, String] = super.sessionConf ++ Map(
    "spark.sql.extensions" -> Seq(
      "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
      classOf[SpringbokExtensions].getName
    ).mkString(","),
    "spark.sql.catalog.ice" -> "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.ice.type" -> "hadoop",
    "spark.sql.catalog.ice.warehouse" -> folder.resolve("iceberg").toString
  )

  protected val columns: String =
    """id, id DIV 10 AS tens, CAST(id AS INT) AS i, concat('customer-of-the-house-', lpad(id, 8, '0')) AS name,
      |lpad(id, 8, '0') AS code,
      |CAST(id AS DECIMAL(12, 2)) / 4 AS price, timestamp_seconds(1700000000 + id * 60) AS ts,
      |date_add(DATE'2024-01-01', CAST(id DIV 100 AS INT)) AS day,
      |named_struct('a', id, 'b', id % 7) AS s, CAST(id AS DOUBLE) AS x""".stripMargin

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    spark.sql("CREATE NAMESPACE ice.db")
    table("dim", s"SELECT *, id % 3 AS grp, id AS k FROM (SELECT $columns FROM range(10000))")
  }

  /** A table of ten files, in the order of `id`. */
  protected def iceberg(
      name: String,
      clauses: String = "",
      properties: String = "",
      rows: Int = 10000
  ): Unit = {
    val some = if (properties.isEmpty) "" else s"TBLPROPERTIES ($properties)"
    spark.sql(s"CREATE TABLE ice.db.$name USING iceberg $clauses $some AS SELECT $columns FROM range(0)")
    append(name, rows)
  }

  protected def append(name: String, rows: Int = 10000): Unit =
    spark.sql(s"SELECT $columns FROM range(0, $rows, 1, 10)").writeTo(s"ice.db.$name").append()

  protected def scans(df: DataFrame): Seq[BatchScanExec] =
    collectWithSubqueries(executed(df)) { case b: BatchScanExec => b }

  protected def rowsRead(df: DataFrame): Long = scans(df).map(_.metrics("numOutputRows").value).sum

  protected def why(df: DataFrame) = (told(df), record(df).filters.all.map(_.reason.text))
}

package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.connector.catalog.{
  InMemoryRowLevelOperationTableCatalog,
  InMemoryTableWithV2FilterCatalog
}
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.springbok.{Slow, Smoke, SpringbokExtensions, SpringbokTest}
import org.apache.spark.sql.springbok.catalyst.SparkConnectors
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.stats.estimate.Source
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/** Tables that are no folders of files: of connectors that filter at run time, of Delta, of text without any statistics. */
class ConnectorSuite extends SpringbokTest {
  override protected def sessionConf: Map[String, String] = super.sessionConf ++ Map(
    "spark.sql.extensions" -> s"io.delta.sql.DeltaSparkSessionExtension,${classOf[SpringbokExtensions].getName}",
    "spark.sql.catalog.spark_catalog" -> "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.catalog.rewritten" -> classOf[InMemoryRowLevelOperationTableCatalog].getName,
    "spark.sql.catalog.mem" -> classOf[InMemoryTableWithV2FilterCatalog].getName
  )

  private val rows = "SELECT id, CAST(id % 50 AS INT) AS day, id * 2 AS v FROM range(0, 100000, 1, 2)"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("days", "SELECT CAST(id AS INT) AS day, id DIV 10 AS month FROM range(50)")
    spark.sql("CREATE TABLE mem.fact (id BIGINT, day INT, v BIGINT) PARTITIONED BY (day)")
    spark.sql(s"INSERT INTO mem.fact SELECT * FROM ($rows)")
    delta("fact", rows, "day")
    delta("plain", "SELECT id, id DIV 2000 AS block, id * 2 AS v FROM range(0, 100000, 1, 10)")
    table("blocks", "SELECT id AS block, id % 10 AS grp FROM range(50)")
  }

  private def delta(name: String, sql: String, partitionBy: String*): Unit = {
    val path = folder.resolve("delta").resolve(name).toString
    spark.sql(sql).write.format("delta").partitionBy(partitionBy: _*).save(path)
    spark.read.format("delta").load(path).createOrReplaceTempView(name)
  }

  private def connector(df: DataFrame): Seq[BatchScanExec] =
    collectWithSubqueries(executed(df)) { case b: BatchScanExec => b }

  /** Rows that the connector hands over. */
  private def read(scan: BatchScanExec): Long = scan.metrics("numOutputRows").value

  private lazy val ofMarch: Long =
    off(spark.sql("SELECT 1 FROM mem.fact WHERE day IN (SELECT day FROM days WHERE month = 3)").count())

  private def files(df: DataFrame, column: String): Long =
    collectWithSubqueries(executed(df)) {
      case s: FileSourceScanExec if s.output.exists(_.name == column) => s.metrics("numFiles").value
    }.sum

  private def why(df: DataFrame) = record(df).filters.all.map(f => (f.sourceKey, f.state, f.reason.text))

  private val byMonth = (fact: String) =>
    s"SELECT f.id, f.v, d.month FROM $fact f JOIN days d ON f.day = d.day WHERE d.month = 3"

  test("a connector's partitions that no key is in are never planned", Smoke) {
    conf(shuffled: _*) {
      val df = same(byMonth("mem.fact"))
      assert(used(df).map(_.kinds.head) == Seq("in"), why(df))
      assert(connector(df).map(read) == Seq(ofMarch))
    }
  }

  test("a connector is asked for a range where keys are too many to list") {
    assume(SparkConnectors.takeRanges)
    conf(shuffled :+ (FilterConf.IN_LIMIT.key -> "3"): _*) {
      val df = same(byMonth("mem.fact"))
      assert(used(df).exists(_.kinds.contains("minmax")), why(df))
      assert(connector(df).exists(_.runtimeFilters.nonEmpty))
    }
  }

  test("a column that the connector does not filter by is tested row by row") {
    conf(shuffled: _*) {
      val df = same("SELECT f.id, b.grp FROM mem.fact f JOIN blocks b ON f.id = b.block WHERE b.grp = 1")
      assert(connector(df).forall(_.runtimeFilters.isEmpty))
      assert(used(df).map(_.kinds) == Seq(Seq("bitmap")), why(df))
    }
  }

  test(
    "an update that rewrites whole groups of rows changes and keeps what it does without Springbok",
    Slow
  ) {
    def updated(name: String): Seq[String] = {
      spark.sql(s"CREATE TABLE rewritten.$name (id BIGINT, day INT, v BIGINT) PARTITIONED BY (day)")
      spark.sql(s"INSERT INTO rewritten.$name SELECT * FROM ($rows) WHERE id < 5000")
      val some = "(SELECT day FROM days WHERE month = 3)"
      spark.sql(s"UPDATE rewritten.$name SET v = -1 WHERE day IN $some AND id % 3 = 0")
      spark.sql(s"DELETE FROM rewritten.$name WHERE day IN $some AND id % 7 = 0")
      sorted(spark.sql(s"SELECT * FROM rewritten.$name").collect())
    }
    conf(shuffled: _*) {
      val on = updated("on_")
      assert(on == off(updated("off_")))
      assert(on.count(_.endsWith(",-1]")) > 100)
    }
  }

  test("Spark's own partition pruning of a connector is not done twice") {
    val df = same(byMonth("mem.fact"))
    assert(declined(df).contains("SPARK_FILTERS"), why(df))
    assert(connector(df).map(read) == Seq(ofMarch))
  }

  // A second filter was once made from a key whose partitions dynamic pruning, or whose rows Spark's bloom
  // filter, had already removed.
  test("Spark's own partition pruning of files is not done twice, and is where Spark gives it up") {
    table("parts", rows, partitionBy = Seq("day"))
    val twice = same(byMonth("parts"))
    assert(declined(twice).contains("SPARK_FILTERS"), why(twice))
    conf(shuffled: _*) {
      val once = same(byMonth("parts"))
      assert(used(once).nonEmpty, why(once))
      assert(files(once, "v") == files(twice, "v"))
    }
  }

  // Where a scan of 10 GB or more is shuffled, Spark's bloom filter once kept ours from a table sorted by date.
  test(
    "Spark's own bloom filter is followed by another one on the same key only where the scan skips files",
    Slow
  ) {
    val bloom = "spark.sql.optimizer.runtime.bloomFilter."
    val theirs = Seq(
      bloom + "enabled" -> "true",
      bloom + "applicationSideScanSizeThreshold" -> "0",
      "spark.sql.optimizer.runtimeFilter.semiJoinReduction.enabled" -> "false"
    )
    table("unsorted", "SELECT id % 50 AS block, id AS v FROM range(0, 100000, 1, 10)")
    def sql(table: String) =
      s"SELECT f.v, b.grp FROM $table f JOIN blocks b ON f.block = b.block WHERE b.grp = 1"
    conf(shuffled: _*)(assert(used(same(sql("unsorted"))).nonEmpty))
    conf(shuffled ++ theirs: _*) {
      val mixed = same(sql("unsorted"))
      assert(executed(mixed).toString.contains("might_contain"))
      assert(declined(mixed).contains("SPARK_FILTERS"), why(mixed))
      val sorted = same(sql("plain"))
      assert(executed(sorted).toString.contains("might_contain"))
      assert(files(sorted, "v") == 9, why(sorted))
    }
  }

  test("a Delta table's rows are counted by its files' footers, its partitions by their names", Slow) {
    val table = execution(spark.table("fact")).optimizedPlan.collectFirst { case r: LogicalRelation => r }.get
    val known = new PlanStats()(table)
    // Of a hundred files some are opened.
    assert(known.rows.exists(n => math.abs(n.value - 1e5) < 1e3 && n.source == Source.Footer))
    val ndv = table.output.map(a => a.name -> known.ndv(a)).toMap
    assert(ndv("day").contains(50.0) && ndv("id").exists(n => math.abs(n - 1e5) < 1e3))
    assert(!known.columns.values.exists(_.uniqueness.proven))
  }

  test("Delta files of partitions that no key is in are not read", Slow) {
    conf(shuffled: _*) {
      val df = same(byMonth("fact"))
      assert(used(df).nonEmpty, why(df))
      assert(files(df, "v") < 30)
    }
  }

  test("Delta files are skipped by their own statistics") {
    conf(shuffled: _*) {
      val df = same("SELECT f.v, b.grp FROM plain f JOIN blocks b ON f.block = b.block WHERE b.grp = 1")
      assert(used(df).nonEmpty, why(df))
      // Delta takes a list for the range of its values.
      assert(files(df, "v") == 9)
    }
  }

  test(
    "deleted rows of a Delta table stay deleted, columns of other names in its files keep their values",
    Slow
  ) {
    val properties = "spark.databricks.delta.properties.defaults."
    val path = folder.resolve("delta").resolve("changed").toString
    conf(properties + "enableDeletionVectors" -> "true", properties + "columnMapping.mode" -> "name") {
      delta("changed", "SELECT id, id DIV 2000 AS block, id % 50 AS other FROM range(0, 100000, 1, 4)")
    }
    spark.sql(s"DELETE FROM delta.`$path` WHERE id % 3 = 0")
    spark.read.format("delta").load(path).createOrReplaceTempView("changed")
    for (key <- Seq("block", "other"))
      conf(shuffled: _*) {
        val df =
          same(s"SELECT f.id, b.grp FROM changed f JOIN blocks b ON f.$key = b.block WHERE b.grp = 1")
        assert(used(df).nonEmpty, why(df))
        assert(df.count() == spark.sql(s"SELECT id FROM changed WHERE $key % 10 = 1").count())
      }
  }

  test("Delta's MERGE writes what it writes without Springbok", Slow) {
    def merged(name: String): Seq[String] = {
      delta(name, rows, "day")
      val path = folder.resolve("delta").resolve(name)
      spark.sql(
        s"""MERGE INTO delta.`$path` t USING (SELECT day, month, id FROM days JOIN range(3) WHERE month = 2) s
                   |ON t.day = s.day AND t.id = s.id + s.day WHEN MATCHED THEN UPDATE SET v = -1
                   |WHEN NOT MATCHED THEN INSERT (id, day, v) VALUES (s.id, s.day, -2)""".stripMargin
      )
      sorted(spark.sql(s"SELECT id, day, v FROM $name").collect())
    }
    conf(shuffled: _*)(assert(merged("on_") == off(merged("off_"))))
  }

  // Where nothing counted the rows, the left side once filtered the right side: the scan of a small Delta
  // dimension waited for the fact table.
  test("of two sides that nobody has counted the one of fewer bytes filters the other") {
    for (
      (name, sql) <- Seq("bigtext" -> rows, "smalltext" -> "SELECT id AS day, id % 5 AS grp FROM range(20)")
    ) {
      val path = folder.resolve(name).toString
      spark.sql(sql).write.csv(path)
      spark.read
        .schema(spark.sql(sql).schema)
        .option("multiLine", true)
        .csv(path)
        .createOrReplaceTempView(name)
    }
    conf(shuffled: _*) {
      for (on <- Seq("bigtext f JOIN smalltext d", "smalltext d JOIN bigtext f")) {
        val df = same(s"SELECT f.v, d.grp FROM $on ON f.day = d.day WHERE d.grp = 1")
        assert(used(df).nonEmpty, why(df))
        assert(used(df).forall(_.state.found.keys.exists(_ <= 4)), why(df))
      }
    }
  }
}

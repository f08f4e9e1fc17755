package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.springbok.{Slow, Smoke, SpringbokExtensions}
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.report.SpringbokReport
import org.apache.spark.sql.springbok.report.model.SinkEntry
import org.apache.spark.sql.springbok.stats.estimate.Source
import org.apache.spark.sql.springbok.stats.operator.PlanStats
import org.apache.spark.sql.springbok.stats.source.TableFiles

/** Tables of Delta's catalog: which files are read, and that the rows are the same. */
class DeltaSuite extends FactAndDimTest {
  override protected def sessionConf: Map[String, String] = super.sessionConf ++ Map(
    "spark.sql.extensions" -> s"io.delta.sql.DeltaSparkSessionExtension,${classOf[SpringbokExtensions].getName}",
    "spark.sql.catalog.spark_catalog" -> "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions" -> "2"
  )

  private val columns =
    """id, id DIV 10 AS tens, CAST(id AS INT) AS i, lpad(id, 8, '0') AS code,
      |CAST(id AS DECIMAL(12, 2)) / 4 AS price, timestamp_seconds(1700000000 + id * 60) AS ts,
      |date_add(DATE'2024-01-01', CAST(id DIV 100 AS INT)) AS day""".stripMargin

  /** A table of ten files, in the order of `id`. */
  private def delta(name: String, clauses: String = "", properties: String = "", rows: Int = 10000): Unit = {
    val some = if (properties.isEmpty) "" else s"TBLPROPERTIES ($properties)"
    val location = folder.resolve("delta").resolve(name)
    spark.sql(
      s"CREATE TABLE $name USING delta $clauses $some LOCATION '$location' AS SELECT $columns FROM range(0)"
    )
    append(name, rows)
  }

  private def append(name: String, rows: Int = 10000): Unit =
    spark
      .sql(s"SELECT $columns FROM range(0, $rows, 1, 10)")
      .write
      .format("delta")
      .mode("append")
      .saveAsTable(name)

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("dim", s"SELECT *, id % 3 AS grp, id AS k FROM (SELECT $columns FROM range(10000))")
    delta("sorted")
  }

  /** Files that the scans of Delta's tables read. */
  private def files(df: DataFrame): Long = collectWithSubqueries(executed(df)) {
    case s: FileSourceScanExec if !s.output.exists(_.name == "grp") => s.metrics("numFiles").value
  }.sum

  for (column <- Seq("id", "tens", "i", "code", "price", "ts", "day"))
    test(s"files of other values are not read: $column", Seq(Smoke).filter(_ => column == "code"): _*) {
      val df = joined("sorted", column)
      assert(files(df) == 1, why(df))
    }

  // Delta 3.2 and 3.3 write the smallest and largest timestamp up to 59 s late where an offset has seconds.
  test("a log is not asked for timestamps of days when offsets had seconds", Slow) {
    val location = folder.resolve("delta").resolve("old_times")
    def times(from: Int) = s"id, timestamp_seconds(-1600000000 + $from + id * 60) AS ts"
    spark.sql(
      s"CREATE TABLE old_times USING delta LOCATION '$location' AS SELECT ${times(0)} FROM range(1000)"
    )
    spark.sql(s"INSERT INTO old_times SELECT ${times(1000000)} FROM range(1000)")
    table("moments", s"SELECT id AS k, id % 3 AS grp, ts FROM (SELECT ${times(0)} FROM range(1000))")
    val df = conf(shuffled: _*)(
      same("SELECT f.id FROM old_times f JOIN moments d ON f.ts = d.ts WHERE d.k < 30 AND d.grp = 1")
    )
    assert(used(df).nonEmpty && files(df) == spark.table("old_times").inputFiles.length, why(df))
  }

  // Its files may be a million, of which the query needs those of one partition.
  test("a table whose scan is not planned yet is not listed") {
    val indexes = execution(spark.table("sorted")).analyzed
      .collect { case r: LogicalRelation => r.relation }
      .collect { case fs: HadoopFsRelation => fs.location }
    assert(indexes.size == 1 && TableFiles.of(indexes.head).isEmpty, indexes.map(_.getClass))
  }

  test("keys that are too many to list become ranges") {
    val df = joined("sorted", "id", "d.k BETWEEN 1000 AND 1999 AND d.k % 2 = 0 OR d.k BETWEEN 7000 AND 7100")
    assert(used(df).head.kinds.head == "ranges" && files(df) == 2, why(df))
    conf(FilterConf.IN_LIMIT.key -> "10") {
      val bounded = joined("sorted", "id", "d.k BETWEEN 1000 AND 2999")
      assert(used(bounded).head.kinds.head == "minmax" && files(bounded) == 2, why(bounded))
    }
  }

  for (
    (name, clause, optimize) <- Seq(
      ("zordered", "", "ZORDER BY (tens)"),
      ("clustered", "CLUSTER BY (tens)", "")
    )
  )
    test(s"a table that OPTIMIZE has ordered: $name", Slow) {
      delta(name, clause, rows = 0)
      spark
        .sql(s"SELECT $columns FROM range(20000) ORDER BY hash(id)")
        .write
        .format("delta")
        .mode("append")
        .saveAsTable(name)
      conf(
        "spark.databricks.delta.optimize.maxFileSize" -> "60000",
        "spark.databricks.delta.optimize.minFileSize" -> "1000000"
      )(
        spark.sql(s"OPTIMIZE $name $optimize")
      )
      val all = spark.table(name).inputFiles.length
      val df = joined(name, "tens")
      assert(all == 1 || files(df) < all, (all, files(df), why(df)))
    }

  test("generated columns", Slow) {
    val location = folder.resolve("delta").resolve("generated")
    io.delta.tables.DeltaTable
      .create(spark)
      .tableName("generated")
      .location(location.toString)
      .addColumn("id", "BIGINT")
      .addColumn("ts", "TIMESTAMP")
      .addColumn(
        io.delta.tables.DeltaTable
          .columnBuilder(spark, "day")
          .dataType("DATE")
          .generatedAlwaysAs("CAST(ts AS DATE)")
          .build()
      )
      .partitionedBy("day")
      .execute()
    spark.sql(
      "INSERT INTO generated (id, ts) SELECT id, timestamp_seconds(1700000000 + id * 60) FROM range(10000)"
    )
    conf(shuffled: _*) {
      val df =
        same("SELECT f.id, d.grp FROM generated f JOIN dim d ON f.ts = d.ts WHERE d.k BETWEEN 2000 AND 2063")
      assert(used(df).nonEmpty, why(df))
      table("dates", "SELECT date_add(DATE'2023-11-14', CAST(id AS INT)) AS day, id AS grp FROM range(8)")
      val byDay = same("SELECT f.id, d.grp FROM generated f JOIN dates d ON f.day = d.day WHERE d.grp = 2")
      assert(files(byDay) <= 4, why(byDay))
    }
  }

  test("columns of other names in the files: renamed, swapped, dropped and added again") {
    delta("mapped", properties = "'delta.columnMapping.mode' = 'name'")
    assert(files(joined("mapped", "id")) == 1)
    delta("later")
    spark.sql(
      """ALTER TABLE later SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2',
        |'delta.minWriterVersion' = '5')""".stripMargin
    )
    for (t <- Seq("mapped", "later")) {
      spark.sql(s"ALTER TABLE $t RENAME COLUMN id TO other")
      spark.sql(s"ALTER TABLE $t RENAME COLUMN tens TO id")
      spark.sql(s"ALTER TABLE $t RENAME COLUMN other TO tens")
      spark.sql(s"ALTER TABLE $t DROP COLUMN i")
      spark.sql(s"ALTER TABLE $t ADD COLUMN i INT")
      spark.sql(s"INSERT INTO $t (id, tens, i) SELECT id, id, CAST(id AS INT) FROM range(2000, 2010)")
      // `tens` has the values that `id` had.
      for ((column, most) <- Seq("tens" -> 3, "id" -> 3, "i" -> 20)) {
        val df = joined(t, column)
        assert(files(df) <= most, (t, column, why(df)))
      }
    }
  }

  test("deleted rows stay deleted, also where columns were renamed", Slow) {
    delta(
      "deleted",
      properties = "'delta.enableDeletionVectors' = 'true', 'delta.columnMapping.mode' = 'name'"
    )
    spark.sql("DELETE FROM deleted WHERE id % 3 = 0")
    spark.sql("ALTER TABLE deleted RENAME COLUMN code TO mark")
    spark.sql("ALTER TABLE deleted RENAME COLUMN tens TO code")
    val df = joined("deleted", "id")
    assert(files(df) == 1 && df.count() == 43, why(df))
    conf(shuffled: _*) {
      same("SELECT f.id, d.grp FROM deleted f JOIN dim d ON f.mark = d.code WHERE d.k BETWEEN 2000 AND 2063")
      same("SELECT f.id, d.grp FROM deleted f JOIN dim d ON f.code = d.tens WHERE d.k BETWEEN 2000 AND 2063")
    }
  }

  test("rows are counted by the log, less the deleted ones", Slow) {
    delta("counted", properties = "'delta.enableDeletionVectors' = 'true'")
    spark.sql("DELETE FROM counted WHERE id % 5 = 0")
    def rows(where: String) =
      new PlanStats()(leaf(s"SELECT * FROM counted $where")).rows.map(r => (r.value, r.source))
    assert(rows("WHERE id IS NOT NULL").contains((8000.0, Source.Log)))
    assert(rows("WHERE id >= 5000").contains((4000.0, Source.Log)))
    // Without a condition, Delta counts nothing.
    assert(rows("").contains((10000.0, Source.Footer)))
  }

  private def leaf(sql: String) = execution(spark.sql(sql)).optimizedPlan.collectLeaves().head

  test("an older version, and the changes between versions", Slow) {
    delta("travelled", properties = "'delta.enableChangeDataFeed' = 'true'")
    spark.sql("DELETE FROM travelled WHERE id % 2 = 0")
    spark.sql("UPDATE travelled SET tens = -1 WHERE id % 5 = 0")
    for ((from, rows) <- Seq("travelled VERSION AS OF 1" -> 64, "travelled" -> 32))
      conf(shuffled: _*) {
        val df =
          same(s"SELECT f.id, d.grp FROM $from f JOIN dim d ON f.id = d.id WHERE d.k BETWEEN 2000 AND 2063")
        assert(df.count() == rows && files(df) == 1, (from, why(df)))
      }
    conf(shuffled: _*) {
      same(
        """SELECT f.id, f._change_type, f._commit_version, d.grp FROM table_changes('travelled', 0) f
          |JOIN dim d ON f.id = d.id WHERE d.k BETWEEN 2000 AND 2063""".stripMargin
      )
    }
  }

  for (vectors <- Seq(true, false))
    test(
      s"what is written is the same as without Springbok, with deletion vectors: $vectors",
      Slow +: Seq(Smoke).filter(_ => vectors): _*
    ) {
      def changed(name: String): Seq[String] = {
        delta(name, properties = s"'delta.enableDeletionVectors' = '$vectors'")
        spark.sql(
          s"DELETE FROM $name WHERE id BETWEEN 2000 AND 2100 AND id % 3 = 1"
        )
        spark.sql(
          s"UPDATE $name SET code = 'new' WHERE id BETWEEN 2050 AND 2200 AND id % 3 = 2"
        )
        spark.sql(
          s"""MERGE INTO $name t USING (SELECT k, grp FROM dim WHERE k BETWEEN 2150 AND 2300) s ON t.id = s.k
             |WHEN MATCHED AND s.grp = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET tens = -1
             |WHEN NOT MATCHED THEN INSERT (id, tens) VALUES (s.k + 100000, 0)""".stripMargin
        )
        spark.sql(
          s"""MERGE INTO $name t USING (SELECT k + 9000 AS k, grp FROM dim WHERE k BETWEEN 900 AND 1100) s ON t.id = s.k
             |WHEN MATCHED THEN UPDATE SET tens = -2 WHEN NOT MATCHED THEN INSERT (id, tens) VALUES (s.k, s.grp)
             |WHEN NOT MATCHED BY SOURCE AND t.id < 100 THEN DELETE""".stripMargin
        )
        val made = spark.sql(
          s"SELECT f.id, f.tens, f.code FROM $name f JOIN dim d ON f.id = d.id WHERE d.k BETWEEN 2000 AND 2300"
        )
        made.write.format("delta").saveAsTable(s"${name}_made")
        spark.sql(
          s"INSERT OVERWRITE ${name}_made SELECT f.id, d.k, f.code FROM $name f JOIN dim d ON f.id = d.id WHERE d.grp = 1"
        )
        Seq(name, s"${name}_made").flatMap(t => sorted(spark.sql(s"SELECT id, tens, code FROM $t").collect()))
      }
      conf(shuffled: _*)(assert(changed(s"on_$vectors") == off(changed(s"off_$vectors"))))
    }

  test("a report says what MERGE and INSERT write, and from which columns") {
    delta("target")
    def report(sql: String) = SpringbokReport.of(execution(spark.sql(sql)))
    val r = report(
      """MERGE INTO target t USING (SELECT k, grp, code FROM dim WHERE tens < 5) s ON t.id = s.k
        |WHEN MATCHED AND s.grp = 1 THEN UPDATE SET tens = t.tens + s.grp
        |WHEN NOT MATCHED THEN INSERT (id, code) VALUES (s.k, s.code)""".stripMargin
    )
    assert(r.sink.exists(s => s.mode == "merge" && s.format.contains("delta")), r.sink)
    assert(r.sink.flatMap(_.table).contains("spark_catalog.default.target"), r.sink)
    val columns = r.output.map(o => o.column -> o.sources.map(_.split('.').last).toSet).toMap
    assert(
      columns("id") == Set("k") && columns("code") == Set("code") && columns("tens") == Set("tens", "grp"),
      r.output
    )
    assert(
      columns("day").isEmpty && r.output
        .find(_.column == "code")
        .exists(_.sources.forall(_.endsWith("/dim`.code")))
    )
    assert(
      r.predicateSources.map(_.split('.').last).toSet == Set("tens", "grp", "id", "k"),
      r.predicateSources
    )
    val insert = report("INSERT INTO target (id, code) SELECT k, code FROM dim WHERE k < 3")
    assert(
      insert.sink.exists(s => s.mode == "append" && s.table.contains("spark_catalog.default.target")),
      insert.sink
    )
    assert(insert.output.find(_.column == "id").exists(_.sources.forall(_.endsWith("dim`.k"))), insert.output)
  }

  test("a report says what UPDATE and DELETE write, and from which columns", Slow) {
    delta("changed", clauses = "PARTITIONED BY (day)")
    def report(sql: String) = SpringbokReport.of(execution(spark.sql(sql)))
    val update = report("UPDATE changed SET tens = i + 1, code = 'x' WHERE id < 50")
    val table = Some("spark_catalog.default.changed")
    assert(update.sink.contains(SinkEntry("update", table, None, Some("delta"), Seq("day"))), update.sink)
    val columns = update.output.map(o => o.column -> o.sources.map(_.split('.').last)).toMap
    assert(columns.filter(_._2.nonEmpty) == Map("tens" -> Seq("i")), columns)
    assert(update.output.size == 7 && update.predicateSources.map(_.split('.').last) == Seq("id"))
    val delete = report("DELETE FROM changed WHERE tens = 7")
    assert(delete.sink.contains(SinkEntry("delete", table, None, Some("delta"), Seq("day"))), delete.sink)
    assert(
      delete.predicateSources.map(_.split('.').last) == Seq("tens") && delete.output.forall(_.sources.isEmpty)
    )
    delta("unnamed")
    val path = folder.resolve("delta").resolve("unnamed")
    assert(
      report(s"DELETE FROM delta.`$path` WHERE id = 7").sink.exists(_.table.exists(_.contains("unnamed")))
    )
  }

  test("a report has the conditions that a scan is told of") {
    delta("told", clauses = "PARTITIONED BY (day)")
    val df = spark.sql(
      "SELECT f.i FROM told f JOIN dim d ON f.id = d.id WHERE f.day = DATE'2024-01-05' AND f.tens > 7"
    )
    val Some(t) = SpringbokReport.of(execution(df)).tables.find(_.name.contains("told")): @unchecked
    assert(t.partitionFilters.exists(_.contains("day = ")) && t.pushedFilters.contains("(tens > 7L)"), t)
  }

  // The log had the smallest value of the file as a text, which is above the key, and the row was lost.
  test("strings beside one that is not valid UTF-8") {
    spark
      .sql("SELECT CAST(X'5AC178' AS STRING) AS s, 1 AS v UNION ALL SELECT 'Zé', 2")
      .coalesce(1)
      .write
      .format("delta")
      .saveAsTable("bytes")
    table("accent", "SELECT 'Zé' AS s, 1 AS g")
    conf(shuffled: _*) {
      val df = same(
        "SELECT /*+ RUNTIME_FILTER(a) */ t.v FROM bytes t JOIN accent a ON t.s = a.s WHERE a.g = 1"
      )
      assert(df.count() == 1 && told(df).nonEmpty && told(df).forall(_.isLeft), why(df))
    }
  }

  test("a concurrent append is not seen") {
    delta("growing")
    val sql =
      "SELECT count(*), sum(f.i) FROM growing f JOIN dim d ON f.id = d.id WHERE d.k BETWEEN 2000 AND 2063"
    conf(shuffled: _*) {
      val expected = spark.sql(sql).collect().toSeq
      val df = spark.sql(sql)
      executed(df): Unit
      append("growing")
      assert(df.collect().toSeq == expected, why(df))
      assert(spark.sql(sql).collect().toSeq != expected)
    }
  }
}

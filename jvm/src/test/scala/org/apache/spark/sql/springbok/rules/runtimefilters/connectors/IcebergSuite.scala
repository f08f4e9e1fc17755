package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import java.util.{HashMap => JHashMap}

import org.apache.iceberg.FileFormat
import org.apache.iceberg.data.{GenericFileWriterFactory, GenericRecord}
import org.apache.iceberg.io.OutputFileFactory
import org.apache.iceberg.spark.Spark3Util
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.springbok.Smoke
import org.apache.spark.sql.springbok.catalyst.{SparkTypes, TableVersions}
import org.apache.spark.sql.springbok.conf.{FilterConf, ReportConf}
import org.apache.spark.sql.springbok.report.SpringbokReport
import org.apache.spark.sql.springbok.stats.estimate.Source
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/** Tables of Iceberg: which files are read, and that the rows are the same. */
class IcebergSuite extends IcebergTest {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    iceberg("sorted")
  }

  /** Data files that the scans have planned to read. */
  private def files(df: DataFrame): Long = scans(df).flatMap(_.metrics.get("resultDataFiles")).map(_.value).sum

  private def joined(fact: String, column: String, where: String = "d.k BETWEEN 2000 AND 2063"): DataFrame =
    conf(shuffled: _*)(
      same(s"SELECT f.id, f.name, d.grp FROM ice.db.$fact f JOIN dim d ON f.$column = d.$column WHERE $where")
    )

  for (column <- Seq("id", "tens", "i", "name", "code", "price", "day"))
    test(s"files of other values are not read: $column", Smoke) {
      val df = joined("sorted", column)
      assert(told(df) == Seq(Right("rebuilt")), why(df))
      // Of texts Iceberg keeps the first sixteen characters, which all names have in common. Parquet keeps all.
      assert(files(df) == (if (column == "name") 10 else 1), why(df))
      assert(rowsRead(df) == 1000, why(df))
    }

  // Iceberg takes the bounds of files with timestamps in ms, which were added to its table, for µs.
  test("timestamps are tested row by row") {
    val df = joined("sorted", "ts")
    assert(notTold(df) == Seq("COMPARES_OTHERWISE") && files(df) == 10 && passed(df) <= 128, why(df))
  }

  test("keys that are too many for Iceberg's lists become ranges") {
    val df = joined("sorted", "id", "d.k BETWEEN 1000 AND 1999 AND d.k % 2 = 0 OR d.k BETWEEN 7000 AND 7100")
    assert(used(df).head.kinds.head == "ranges" && files(df) == 2, why(df))
    conf(FilterConf.IN_LIMIT.key -> "10") {
      val bounded = joined("sorted", "id", "d.k BETWEEN 1000 AND 2999")
      assert(used(bounded).head.kinds.head == "minmax" && files(bounded) == 2, why(bounded))
    }
  }

  test("row groups are skipped inside of a file") {
    iceberg("groups", properties = "'write.parquet.row-group-size-bytes' = '16384'", rows = 100000)
    val df = joined("groups", "id")
    assert(files(df) == 1 && rowsRead(df) < 10000, why(df))
  }

  test("floating-point keys and fields of structs are tested row by row") {
    val df = joined("sorted", "x")
    assert(notTold(df) == Seq("NO_SCAN_COLUMN") && files(df) == 10, why(df))
    conf(shuffled: _*) {
      same("SELECT f.id FROM ice.db.sorted f JOIN dim d ON f.s.a = d.s.a WHERE d.k BETWEEN 2000 AND 2063")
    }
  }

  test("nulls have no match, and files of nulls alone are left out") {
    iceberg("holes")
    spark.sql(s"INSERT INTO ice.db.holes SELECT $columns FROM (SELECT CAST(null AS BIGINT) AS id FROM range(50))")
    spark.sql(s"INSERT INTO ice.db.holes SELECT $columns FROM (SELECT if(id % 2 = 0, null, id) AS id FROM range(2000, 2100))")
    val df = joined("holes", "id", "d.k BETWEEN 2000 AND 2063 OR d.k IS NULL")
    assert(files(df) <= 3 && told(df) == Seq(Right("rebuilt")), why(df))
  }

  // ORC has statistics of strings in the order of UTF-8 and compares them in Java's, UTF-16's.
  test("ORC files with strings between two orders: fullwidth letters and emojis") {
    spark.sql(
      "CREATE TABLE ice.db.letters (s STRING, v INT) USING iceberg TBLPROPERTIES ('write.format.default' = 'orc')"
    )
    spark.sql("INSERT INTO ice.db.letters VALUES ('ａ', 1), ('ｂ', 2), ('😀', 3)")
    table("letter", "SELECT 'ｂ' AS s, 1 AS g")
    conf(shuffled: _*) {
      val df = same(
        "SELECT /*+ RUNTIME_FILTER(d) */ f.s, f.v FROM ice.db.letters f JOIN letter d ON f.s = d.s WHERE d.g = 1"
      )
      assert(df.count() == 1 && told(df).nonEmpty && told(df).forall(_.isLeft), why(df))
    }
  }

  test("NaN and negative zero are found") {
    spark.sql("CREATE TABLE ice.db.floats (id BIGINT, x DOUBLE) USING iceberg PARTITIONED BY (x)")
    spark.sql("""INSERT INTO ice.db.floats SELECT id, CASE id % 4 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D
                |WHEN 2 THEN 0.0D ELSE 1.0D END FROM range(1000)""".stripMargin)
    table("doubles", "SELECT CASE id % 3 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D ELSE 7.0D END AS x, id AS g FROM range(9)")
    conf(shuffled: _*) {
      val df = same("SELECT count(*) FROM ice.db.floats f JOIN doubles d ON f.x = d.x WHERE d.g < 5")
      assert(df.head().getLong(0) > 500)
    }
  }

  test("conditions that Iceberg evaluates completely are pushed again") {
    iceberg("monthly", "PARTITIONED BY (months(day))")
    val df = joined("monthly", "id", "f.day < DATE'2024-03-01' AND d.k BETWEEN 0 AND 9999 AND d.k % 100 = 3")
    assert(told(df) == Seq(Right("rebuilt")), why(df))
  }

  for (
    (name, by) <- Seq(
      "daily" -> "days(day)",
      "bucketed" -> "bucket(8, id)",
      "truncated" -> "truncate(500, id)",
      "named" -> "truncate(28, name)"
    )
  )
    test(s"partitions by $by") {
      iceberg(name, s"PARTITIONED BY ($by)")
      val column = if (name == "daily") "day" else if (name == "named") "name" else "id"
      val df = joined(name, column, "d.k BETWEEN 2000 AND 2003")
      assert(told(df) == Seq(Right("rebuilt")), why(df))
      assert(rowsRead(df) < 5000, (rowsRead(df), why(df)))
    }

  test("a report has the conditions that Iceberg evaluates alone, and what it says of its scan") {
    iceberg("conditions", "PARTITIONED BY (day)")
    val sql =
      "SELECT f.id, d.grp FROM ice.db.conditions f JOIN dim d ON f.id = d.id WHERE f.day < DATE'2024-02-01' AND f.i > 777 AND d.k < 64"
    conf(shuffled: _*) {
      val df = spark.sql(sql)
      for (state <- Seq("planned", "executed")) {
        if (state == "executed") df.collect(): Unit
        val Some(t) = SpringbokReport.of(execution(df)).tables.find(_.source == "connector"): @unchecked
        assert(t.pushedFilters.exists(_.contains("day < ")) && !t.pushedFilters.exists(_.contains("777")), t)
        // It uses the other condition to leave out files, and Spark tests each row.
        assert(t.scan.exists(s => s.contains("777") && s.contains("day")), t)
      }
      conf(ReportConf.LITERALS.key -> "false") {
        val Some(t) = SpringbokReport.of(execution(spark.sql(sql))).tables.find(_.source == "connector"): @unchecked
        assert(t.scan.isEmpty && t.pushedFilters.nonEmpty && !t.pushedFilters.exists(_.contains("2024")), t)
      }
    }
  }

  test("partitions by the values themselves are left out by the scan's own filtering") {
    iceberg("identity", "PARTITIONED BY (day)")
    val df = joined("identity", "day", "d.k BETWEEN 2000 AND 2063")
    assert(told(df) == Seq(Right("connector")) && rowsRead(df) == 100, why(df))
  }

  for (mode <- Seq("copy-on-write", "merge-on-read"))
    test(s"a report says what MERGE and INSERT write, and from which columns: $mode") {
      val name = s"target_${mode.take(4)}"
      iceberg(name, "PARTITIONED BY (day)", s"'write.merge.mode' = '$mode', 'format-version' = '2'")
      def report(sql: String) = SpringbokReport.of(execution(spark.sql(sql)))
      val r = report(
        s"""MERGE INTO ice.db.$name t USING (SELECT k, grp FROM dim WHERE code < '00000050') s ON t.id = s.k
           |WHEN MATCHED AND s.grp = 1 THEN UPDATE SET tens = t.tens + s.k
           |WHEN NOT MATCHED THEN INSERT (id, tens, i, name, code, price, ts, day, s, x)
           |  VALUES (s.k, 0, 0, 'more', null, null, null, null, null, null)""".stripMargin
      )
      assert(r.sink.exists(s => s.mode == "merge" && s.table.contains(s"ice.db.$name")), r.sink)
      assert(r.sink.exists(s => s.format.contains("iceberg") && s.partitionColumns == Seq("day")), r.sink)
      val columns = r.output.map(o => o.column -> o.sources.map(_.split('.').last).toSet).toMap
      assert(columns("id") == Set("k") && columns("tens") == Set("tens", "k") && columns("name").isEmpty, r.output)
      assert(r.predicateSources.map(_.split('.').last).toSet == Set("code", "grp", "id", "k"), r.predicateSources)
      val insert = report(s"INSERT OVERWRITE ice.db.$name SELECT * FROM ice.db.$name WHERE id < 3")
      assert(insert.sink.exists(_.mode.startsWith("overwrite")) && insert.predicateSources == Seq(s"ice.db.$name.id"))
    }

  for ((mode, version) <- Seq("copy-on-write" -> 2, "merge-on-read" -> 2, "merge-on-read" -> 3))
    test(s"DELETE, UPDATE and MERGE do what they do without Springbok: $mode, format $version") {
      def changed(name: String): Seq[String] = {
        iceberg(
          name,
          properties = Seq("delete", "update", "merge").map(o => s"'write.$o.mode' = '$mode'").mkString(", ") +
            s", 'format-version' = '$version'"
        )
        spark.sql(s"DELETE FROM ice.db.$name WHERE id IN (SELECT k FROM dim WHERE k BETWEEN 2000 AND 2100 AND grp = 1)")
        spark.sql(s"UPDATE ice.db.$name SET name = 'new' WHERE id IN (SELECT k FROM dim WHERE k BETWEEN 2050 AND 2200 AND grp = 2)")
        spark.sql(
          s"""MERGE INTO ice.db.$name t USING (SELECT k, grp FROM dim WHERE k BETWEEN 2150 AND 2300) s ON t.id = s.k
             |WHEN MATCHED AND s.grp = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET tens = -1
             |WHEN NOT MATCHED THEN INSERT (id, tens, i, name, code, price, ts, day, s, x)
             |  VALUES (s.k + 100000, 0, 0, 'more', null, null, null, null, null, null)""".stripMargin
        )
        // The deletes are applied by the scan that is built again.
        val df = joined(name, "id", "d.k BETWEEN 2000 AND 2300")
        sorted(spark.sql(s"SELECT id, tens, name FROM ice.db.$name").collect())
      }
      val suffix = s"${mode.take(5)}$version".replace("-", "")
      conf(shuffled: _*) {
        val on = changed(s"on_$suffix")
        assert(on == off(changed(s"off_$suffix")))
        val df = joined(s"on_$suffix", "id")
        // Spark 3.5 does not tell whether a column of format 3 has a default.
        if (version < 3 || SparkTypes.tellsDefaults) assert(told(df) == Seq(Right("rebuilt")), why(df))
        else assert(notTold(df) == Seq("COMPARES_OTHERWISE"), why(df))
      }
    }

  /** Deletes all rows that have one of these values, as Flink does: Spark writes no such delete files. */
  private def deleteEqual(name: String, column: String, values: Seq[AnyRef]): Unit = {
    val t = Spark3Util.loadIcebergTable(spark, s"ice.db.$name")
    val schema = t.schema.select(column)
    val factory = new GenericFileWriterFactory.Builder(t)
      .deleteFileFormat(FileFormat.PARQUET)
      .equalityFieldIds(Array(t.schema.findField(column).fieldId))
      .equalityDeleteRowSchema(schema)
      .build()
    val file = OutputFileFactory.builderFor(t, 1, 1).format(FileFormat.PARQUET).build().newOutputFile()
    val writer = factory.newEqualityDeleteWriter(file, t.spec, null)
    values.foreach { v =>
      val fields = new JHashMap[String, AnyRef]()
      fields.put(column, v)
      writer.write(GenericRecord.create(schema).copy(fields))
    }
    writer.close()
    t.newRowDelta().addDeletes(writer.toDeleteFile()).commit()
    spark.sql(s"REFRESH TABLE ice.db.$name"): Unit
  }

  // The reader adds the columns of the deletes to those that the query reads.
  for ((column, values) <- Seq[(String, Seq[AnyRef])](
      "id" -> (2000L to 2031L).map(Long.box),
      "tens" -> Seq(Long.box(201), Long.box(205), Long.box(700)),
      "code" -> Seq("00002007", "00002063")
    ))
    test(s"rows of equality deletes stay deleted in a scan that is built again: by $column") {
      val name = s"equal_$column"
      iceberg(name, properties = "'format-version' = '2'")
      deleteEqual(name, column, values)
      val deletes = spark.sql(s"SELECT content FROM ice.db.$name.delete_files").collect().map(_.getInt(0))
      assert(deletes.toSeq == Seq(2))
      val df = joined(name, "id")
      assert(told(df) == Seq(Right("rebuilt")) && files(df) == 1, why(df))
      val left = df.count()
      assert(left == Map("id" -> 32, "tens" -> 44, "code" -> 62)(column))
      // Rows that were written after the delete are not deleted.
      spark.sql(s"INSERT INTO ice.db.$name SELECT $columns FROM range(2000, 2010)")
      val more = joined(name, "id")
      assert(told(more) == Seq(Right("rebuilt")) && more.count() == left + 10, why(more))
    }

  /** Whether a table object of this Spark tells which version it reads. */
  private def tellsVersion(name: String): Boolean =
    scans(spark.table(s"ice.db.$name")).forall(b => TableVersions.of(b.table).isDefined)

  test("a concurrent append is not seen") {
    iceberg("growing")
    val sql = "SELECT count(*), sum(f.i) FROM ice.db.growing f JOIN dim d ON f.id = d.id WHERE d.k BETWEEN 2000 AND 2063"
    conf(shuffled: _*) {
      val expected = spark.sql(sql).collect().toSeq
      val df = spark.sql(sql)
      executed(df): Unit
      append("growing")
      assert(df.collect().toSeq == expected)
      assert(told(df) == Seq(Right("rebuilt")), why(df))
      assert(spark.sql(sql).collect().toSeq != expected)
    }
  }

  test("an older snapshot, a branch and a tag") {
    iceberg("travelled")
    val first = spark.sql("SELECT snapshot_id FROM ice.db.travelled.snapshots ORDER BY committed_at DESC LIMIT 1").head().getLong(0)
    spark.sql("ALTER TABLE ice.db.travelled CREATE BRANCH side")
    spark.sql("ALTER TABLE ice.db.travelled CREATE TAG start")
    spark.sql(s"INSERT INTO ice.db.travelled.branch_side SELECT $columns FROM range(2000, 2010)")
    spark.sql("DELETE FROM ice.db.travelled WHERE id % 2 = 0")
    for ((at, rows) <- Seq(s"VERSION AS OF $first" -> 64, "VERSION AS OF 'start'" -> 64, "VERSION AS OF 'side'" -> 74, "" -> 32))
      conf(shuffled: _*) {
        val df = same(
          s"""SELECT f.id, d.grp FROM (SELECT * FROM ice.db.travelled $at) f JOIN dim d ON f.id = d.id
             |WHERE d.k BETWEEN 2000 AND 2063""".stripMargin
        )
        assert(df.count() == rows, at)
        val known = at.isEmpty || tellsVersion("travelled")
        assert(told(df).map(_.left.map(_ => "")) == Seq(if (known) Right("rebuilt") else Left("")), (at, why(df)))
      }
  }

  test("metadata columns are read by the scan that Spark has built") {
    conf(shuffled: _*) {
      val df = same("SELECT f.id, f._pos FROM ice.db.sorted f JOIN dim d ON f.id = d.id WHERE d.k BETWEEN 2000 AND 2063")
      assert(isKept(df, "metadata columns"), why(df))
    }
  }

  test("tables of metadata are left alone") {
    conf(shuffled: _*) {
      same("SELECT f.record_count FROM ice.db.sorted.files f JOIN dim d ON f.record_count = d.id WHERE d.k < 5000")
    }
  }

  test("columns that were renamed, added and dropped") {
    iceberg("evolved")
    spark.sql("ALTER TABLE ice.db.evolved RENAME COLUMN id TO number")
    spark.sql("ALTER TABLE ice.db.evolved RENAME COLUMN tens TO id")
    spark.sql("ALTER TABLE ice.db.evolved ADD COLUMN extra BIGINT")
    spark.sql("ALTER TABLE ice.db.evolved DROP COLUMN x")
    spark.sql(
      "INSERT INTO ice.db.evolved SELECT id, 2000, 7, 'late', null, null, null, null, null, id FROM range(2000, 2010)"
    )
    conf(shuffled: _*) {
      for (column <- Seq("number", "extra", "id")) {
        val df = same(
          s"SELECT f.number, f.name, f.extra FROM ice.db.evolved f JOIN dim d ON f.$column = d.id WHERE d.k BETWEEN 2000 AND 2063"
        )
        assert(told(df) == Seq(Right("rebuilt")), why(df))
      }
    }
  }

  test("a table that is read twice, and one that is joined with itself") {
    conf(shuffled: _*) {
      same("""WITH f AS (SELECT id, name, tens FROM ice.db.sorted)
             |SELECT a.id, b.name FROM f a JOIN f b ON a.id = b.tens JOIN dim d ON b.id = d.id WHERE d.k < 64""".stripMargin)
    }
  }

  test("rows are counted by Iceberg") {
    val plan = execution(spark.table("ice.db.sorted")).optimizedPlan
    assert(new PlanStats()(plan).rows.exists(n => n.value == 10000 && n.source == Source.Connector))
  }
}

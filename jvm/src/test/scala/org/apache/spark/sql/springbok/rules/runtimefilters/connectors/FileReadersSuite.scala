package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import java.nio.file.{Files, Path}
import java.util.TimeZone

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.keys.KeyPredicates
import org.apache.spark.sql.types.DateType

/** Readers that compare keys in another way than the join does are told of none. */
class FileReadersSuite extends SpringbokTest {
  private def path(name: String): String = folder.resolve(name).toString

  private def checked(sql: String): DataFrame = conf(shuffled: _*)(same(sql))

  /** The query, whose scans are told of no keys. */
  private def untold(sql: String): DataFrame = {
    val df = checked(sql)
    assert(told(df).nonEmpty && told(df).forall(_.isLeft), told(df))
    df
  }

  // ORC has statistics of strings in the order of UTF-8 and compares them in Java's, UTF-16's.
  test("ORC strings between two orders: fullwidth letters and emojis") {
    spark
      .sql("SELECT explode(array('ABC', 'ＡＢＣ', '😀x')) AS s, 1 AS v")
      .coalesce(1)
      .write
      .orc(path("texts"))
    spark.read.orc(path("texts")).createOrReplaceTempView("texts")
    for (keys <- Seq("'ＡＢＣ'", "'ABC'", "'😀x'", "'zzz'", "'ABC', '😀x'")) {
      spark.sql(s"SELECT explode(array($keys)) AS s, 1 AS g").write.mode("overwrite").parquet(path("letters"))
      spark.read.parquet(path("letters")).createOrReplaceTempView("letters")
      val df = checked(
        "SELECT /*+ RUNTIME_FILTER(l) */ t.s, t.v FROM texts t JOIN letters l ON t.s = l.s WHERE l.g = 1"
      )
      assert(used(df).nonEmpty)
      val plain = keys == "'zzz'" || keys == "'ABC'"
      assert(told(df).exists(_.isRight) == plain, (keys, told(df)))
    }
  }

  // The smallest value of the stripe was kept as a Java string, which is above the key, and the row was lost.
  test("ORC strings beside one that is not valid UTF-8") {
    spark
      .sql("SELECT CAST(X'5AC178' AS STRING) AS s, 1 AS v UNION ALL SELECT 'Zé', 2")
      .coalesce(1)
      .write
      .orc(path("bytes"))
    spark.read.orc(path("bytes")).createOrReplaceTempView("bytes")
    table("accent", "SELECT 'Zé' AS s, 1 AS g")
    val df = untold(
      "SELECT /*+ RUNTIME_FILTER(a) */ t.v FROM bytes t JOIN accent a ON t.s = a.s WHERE a.g = 1"
    )
    assert(df.count() == 1)
  }

  // Keys were compared with the statistics of the column that has the name, which is another one.
  test("ORC files whose columns have no names are read by position") {
    spark.sql("SELECT id AS _col0, id + 5000 AS _col1 FROM range(1000)").write.orc(path("nameless"))
    spark.read.schema("_col1 BIGINT, _col0 BIGINT").orc(path("nameless")).createOrReplaceTempView("nameless")
    table("sevens", "SELECT id * 7 AS k, 1 AS g FROM range(10)")
    val df = untold(
      "SELECT /*+ RUNTIME_FILTER(s) */ t._col0 FROM nameless t JOIN sevens s ON t._col1 = s.k WHERE s.g = 1"
    )
    assert(df.count() == 10)
  }

  // ORC's reader took the keys for values of the type that a file has, which failed the task.
  test("ORC files that have a column in another type than the table") {
    spark.sql("SELECT CAST(id AS INT) AS k, id AS v FROM range(1000)").write.orc(path("numbers"))
    spark.read.schema("k STRING, v BIGINT").orc(path("numbers")).createOrReplaceTempView("numbers")
    table("few", "SELECT string(id * 7) AS k, 1 AS g FROM range(10)")
    untold(
      "SELECT /*+ RUNTIME_FILTER(few) */ n.k, n.v FROM numbers n JOIN few ON n.k = few.k WHERE few.g = 1"
    )
  }

  // Files once only had to have some range of the column, or nothing but nulls: the keys failed the tasks.
  for (
    (stored, declared, key) <- Seq(
      (
        "date_add(DATE'2020-01-01', CAST(id AS INT))",
        "TIMESTAMP",
        "TIMESTAMP(date_add(DATE'2020-01-01', CAST(id * 7 AS INT)))"
      ),
      ("CAST(id AS DECIMAL(10, 2))", "BIGINT", "id * 7"),
      ("CAST(NULL AS STRING)", "BIGINT", "id * 7"),
      // Spark stores an interval as a number, and reads the number if it is asked to.
      ("make_dt_interval(CAST(id AS INT))", "BIGINT", "id * 7 * 86400000000")
    )
  )
    test(s"ORC files that have $stored AS $declared") {
      val (orc, few) = (path(s"typed-${stored.hashCode}"), s"few_${stored.hashCode.toHexString}")
      spark.sql(s"SELECT $stored AS k, id AS v FROM range(1000)").write.orc(orc)
      // A column that is null everywhere is not filtered.
      if (stored.contains("NULL"))
        spark.sql(s"SELECT $key AS k, -id AS v FROM range(1000)").write.mode("append").orc(orc)
      spark.read.schema(s"k $declared, v BIGINT").orc(orc).createOrReplaceTempView("typed")
      table(few, s"SELECT $key AS k, 1 AS g FROM range(10)")
      untold(
        s"SELECT /*+ RUNTIME_FILTER(f) */ t.k, t.v FROM typed t JOIN $few f ON t.k = f.k WHERE f.g = 1"
      )
    }

  // parquet-java's record reader gave a row the payload of another one where the column index left out pages.
  for (
    (reader, settings, pages) <- Seq(
      ("the record reader", Seq("spark.sql.parquet.enableVectorizedReader" -> "false"), false),
      ("the vectorized reader", Nil, true),
      ("the vectorized reader by rows", Seq("spark.sql.codegen.maxFields" -> "1"), true)
    )
  )
    test(s"Parquet files that $reader reads skip ${if (pages) "pages" else "row groups"}") {
      // Spark writes pages of at most 20,000 rows: the last page of k has one row.
      spark
        .sql(
          "SELECT id, if(id < 20000, 'a', if(id < 40000, 'm', 'z')) k, concat('p', id, 'x', sha2(string(id), 256)) v "
            + "FROM range(0, 40001, 1, 1)"
        )
        .write
        .mode("overwrite")
        .option("parquet.enable.dictionary", "false")
        .parquet(path("pages"))
      spark.read.parquet(path("pages")).createOrReplaceTempView("pages")
      table(s"ends_$pages${settings.size}", "SELECT explode(array('a', 'z')) AS k, 1 AS g")
      conf(settings: _*) {
        val query =
          s"SELECT /*+ RUNTIME_FILTER(e) */ p.id, p.v FROM pages p JOIN ends_$pages${settings.size} e ON p.k = e.k"
        val df = checked(s"$query WHERE e.g = 1")
        assert(told(df).exists(_.isRight), told(df))
        val read = collectWithSubqueries(executed(df)) {
          case s: FileSourceScanExec if s.output.exists(_.name == "v") => s.relation.options
        }
        val option = "parquet.filter.columnindex.enabled"
        assert(read.nonEmpty && read.forall(_.get(option) == (if (pages) None else Some("false"))), read)
      }
    }

  test("a Parquet scan by rows that skips pages by the query's own predicates keeps them") {
    spark.range(1000).selectExpr("id", "id % 10 AS k").write.parquet(path("own"))
    spark.read.parquet(path("own")).createOrReplaceTempView("own")
    table("tens", "SELECT id * 10 AS id, 1 AS g FROM range(3)")
    conf("spark.sql.parquet.enableVectorizedReader" -> "false") {
      untold(
        "SELECT /*+ RUNTIME_FILTER(t) */ o.k FROM own o JOIN tens t ON o.id = t.id WHERE t.g = 1 AND o.id < 990"
      )
    }
  }

  // Spark's JSON reader tests the first value of a name that an object has twice, and gives the last one.
  test("JSON, whose reader tests rows by a predicate") {
    val file = Files.createDirectory(Path.of(path("json"))).resolve("rows.json")
    Files.writeString(file, """{"k":"x","v":1,"k":"a"}""" + "\n" + """{"k":"b","v":2}""" + "\n"): Unit
    spark.read.schema("k STRING, v BIGINT").json(path("json")).createOrReplaceTempView("objects")
    table("one", "SELECT 'a' AS k, 1 AS g")
    val df = untold(
      "SELECT /*+ RUNTIME_FILTER(one) */ o.k, o.v FROM objects o JOIN one ON o.k = one.k WHERE one.g = 1"
    )
    assert(df.count() == 1)
  }

  test("days that a time zone has skipped are none of Java's") {
    val zone = TimeZone.getDefault
    val skipped = java.time.LocalDate.of(2011, 12, 30).toEpochDay
    assert(KeyPredicates.readable(skipped, DateType))
    TimeZone.setDefault(TimeZone.getTimeZone("Pacific/Apia"))
    try {
      assert(!KeyPredicates.readable(skipped, DateType))
      assert(KeyPredicates.readable(skipped + 1, DateType))
    } finally TimeZone.setDefault(zone)
  }
}

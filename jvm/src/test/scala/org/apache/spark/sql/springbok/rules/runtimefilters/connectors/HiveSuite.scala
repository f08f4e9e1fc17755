package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.springbok.{Slow, Smoke}
import org.apache.spark.sql.springbok.catalyst.HiveScan
import org.apache.spark.sql.springbok.report.SpringbokReport
import org.apache.spark.sql.springbok.rules.runtimefilters.place.SparkFilters
import org.scalatest.Assertion

/** Tables of a Hive metastore, by Hive's readers and by Spark's: which rows reach the joins, and that the answers are the same. */
class HiveSuite extends FactAndDimTest {
  override protected def sessionConf: Map[String, String] = super.sessionConf ++ Map(
    "spark.sql.catalogImplementation" -> "hive",
    "spark.hadoop.javax.jdo.option.ConnectionURL" ->
      s"jdbc:derby:;databaseName=${folder.resolve("metastore")};create=true",
    "spark.hadoop.hive.exec.scratchdir" -> folder.resolve("scratch").toString,
    "spark.hadoop.hive.exec.dynamic.partition.mode" -> "nonstrict"
  )

  private val columns =
    """id, id DIV 10 AS tens, CAST(id AS INT) AS i, lpad(id, 8, '0') AS code, CAST(id AS DECIMAL(12, 2)) / 4 AS price,
      |date_add(DATE'2024-01-01', CAST(id DIV 100 AS INT)) AS day, CASE WHEN id % 7 > 0 THEN id END AS holes""".stripMargin

  private val csv = "ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde' STORED AS TEXTFILE"
  private val readers = Seq(
    "texts" -> "STORED AS TEXTFILE",
    "delimited" -> "ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' NULL DEFINED AS 'none' STORED AS TEXTFILE",
    "sequences" -> "STORED AS SEQUENCEFILE",
    "rcs" -> "STORED AS RCFILE",
    "avros" -> "STORED AS AVRO",
    "csvs" -> csv
  )

  /** Reads and writes by Hive's classes also where Spark has its own. */
  private def unconverted[T](body: => T): T = conf(
    "spark.sql.hive.convertMetastoreParquet" -> "false",
    "spark.sql.hive.convertMetastoreOrc" -> "false",
    "spark.sql.hive.convertMetastoreCtas" -> "false"
  )(body)

  private def hive(name: String, stored: String): Unit = unconverted {
    // Every column of this serde is a string.
    val all = if (stored == csv) "lpad(id, 8, '0') AS code, CAST(id % 3 AS STRING) AS rest" else columns
    spark.sql(s"CREATE TABLE $name $stored AS SELECT $all FROM range(0, 10000, 1, 4)"): Unit
  }

  override protected def beforeAll(): Unit = {
    // Derby's log would lie in the working directory.
    System.setProperty("derby.stream.error.file", folder.resolve("derby.log").toString): Unit
    super.beforeAll()
    table("dim", s"SELECT *, id AS k, id % 3 AS grp FROM (SELECT $columns FROM range(10000))")
    for ((name, stored) <- readers) hive(name, stored)
    for (format <- Seq("parquet", "orc")) hive(format + "s", s"STORED AS $format")
    spark.sql("CREATE TABLE parted (id BIGINT, holes BIGINT) PARTITIONED BY (day DATE) STORED AS TEXTFILE")
    spark.sql("INSERT INTO parted PARTITION (day) SELECT id, holes, day FROM dim WHERE id < 2000"): Unit
  }

  /** Rows that Hive's readers hand on. */
  private def read(df: DataFrame): Long = collectWithSubqueries(executed(df)) { case s @ HiveScan(_) =>
    s.metrics("numOutputRows").value
  }.sum

  private def byRow(df: DataFrame, table: String): Assertion = {
    val named = told(df).map(_.left.map(r => (r.code, r.text.contains(table))))
    assert(named == Seq(Left(("SCAN_TAKES_NONE", true))), why(df))
  }

  test("a report says what is written to a Hive table, and from which columns") {
    spark.sql("CREATE TABLE sink (a BIGINT, b STRING) PARTITIONED BY (day DATE) STORED AS TEXTFILE")
    def report(sql: String) = SpringbokReport.of(execution(spark.sql(sql)))
    val insert = report("INSERT OVERWRITE sink PARTITION (day) SELECT id, code, day FROM texts WHERE i < 9")
    assert(insert.sink.exists(s => s.mode == "overwrite" && s.table.contains("spark_catalog.default.sink")))
    assert(insert.sink.exists(s => s.format.contains("hive") && s.partitionColumns == Seq("day")))
    val texts = "spark_catalog.default.texts"
    assert(
      insert.output.map(o => o.column -> o.sources) ==
        Seq("a" -> Seq(s"$texts.id"), "b" -> Seq(s"$texts.code"), "day" -> Seq(s"$texts.day"))
    )
    assert(insert.predicateSources == Seq(s"$texts.i"))
    val made = unconverted(report("CREATE TABLE hive_made STORED AS PARQUET AS SELECT id AS x FROM texts"))
    assert(made.sink.exists(s => s.mode == "create" && s.table.contains("spark_catalog.default.hive_made")))
    assert(made.output.map(o => o.column -> o.sources) == Seq("x" -> Seq(s"$texts.id")))
  }

  for ((name, _) <- readers)
    test(s"rows without a match do not reach the join: $name", Smoke) {
      val keys = if (name == "csvs") Seq("code" -> 64) else Seq("id" -> 64, "code" -> 64, "holes" -> 55)
      for ((column, rows) <- keys) {
        val df = joined(name, column)
        byRow(df, name)
        assert(read(df) == 10000 && passed(df) == rows, why(df))
      }
    }

  for (column <- Seq("tens" -> 70, "i" -> 64, "price" -> 64, "day" -> 100))
    test(s"keys of all types: ${column._1}") {
      for (name <- Seq("texts", "rcs")) {
        val df = joined(name, column._1)
        byRow(df, name)
        assert(passed(df) == column._2, why(df))
      }
    }

  test("Parquet and ORC that Spark reads itself are told; read by Hive they are filtered row by row", Smoke) {
    for (name <- Seq("parquets", "orcs")) {
      val own = joined(name, "id")
      assert(read(own) == 0 && told(own).forall(_.isRight) && told(own).nonEmpty, why(own))
      unconverted {
        val df = joined(name, "id")
        byRow(df, name)
        assert(read(df) == 10000 && passed(df) == 64, why(df))
      }
    }
  }

  test("a Hive table as the build side, analyzed and not") {
    for (analyzed <- Seq(false, true)) {
      if (analyzed) spark.sql("ANALYZE TABLE texts COMPUTE STATISTICS FOR ALL COLUMNS"): Unit
      conf(shuffled: _*) {
        val df = same(
          "SELECT f.id, d.i FROM parquets f JOIN texts d ON f.id = d.id WHERE d.tens BETWEEN 200 AND 206"
        )
        assert(used(df).nonEmpty && told(df).forall(_.isRight), why(df))
        val both = same("SELECT f.id, d.i FROM rcs f JOIN texts d ON f.id = d.id WHERE d.tens = 200")
        assert(used(both).nonEmpty, why(both))
      }
    }
  }

  test("outer, semi and anti joins, and groups") {
    conf(shuffled: _*) {
      for (fact <- Seq("texts", "sequences")) {
        same(
          s"SELECT d.k, f.tens FROM dim d LEFT JOIN $fact f ON f.id = d.k WHERE d.k BETWEEN 9990 AND 10010"
        )
        same(s"SELECT id FROM $fact WHERE holes IN (SELECT k FROM dim WHERE grp = 1 AND k < 500)")
        same(
          s"SELECT k FROM dim WHERE k < 90 AND id NOT IN (SELECT holes FROM $fact WHERE holes IS NOT NULL)"
        )
        val grouped = same(
          s"""SELECT f.tens, f.n, d.grp FROM (SELECT tens, count(*) AS n FROM $fact GROUP BY tens) f
             |JOIN dim d ON f.tens = d.k WHERE d.k BETWEEN 20 AND 29""".stripMargin
        )
        assert(passed(grouped) == 100, why(grouped))
      }
    }
  }

  test("other columns of a partitioned table are filtered as well", Smoke) {
    val df = conf(shuffled: _*)(
      same("""SELECT f.*, d.grp FROM parted f JOIN dim d ON f.id = d.id
             |WHERE d.k BETWEEN 100 AND 163 AND f.day > DATE'2024-01-01'""".stripMargin)
    )
    byRow(df, "parted")
    assert(read(df) == 1900 && passed(df) == 64, why(df))
  }

  /** Whether a scan's partitions are pruned at run time. */
  private def prunes(df: DataFrame): Boolean = collectWithSubqueries(executed(df)) { case s @ HiveScan(_) =>
    SparkFilters.pruning(s).exists(_.toString.contains("dynamicpruning"))
  }.contains(true)

  test("Spark's dynamic partition pruning goes on as without Springbok", Slow) {
    table("days", "SELECT DISTINCT day, CAST(dayofmonth(day) AS BIGINT) AS n FROM dim WHERE id < 2000")
    val queries = Seq(
      "SELECT f.id, d.n FROM parted f JOIN days d ON f.day = d.day WHERE d.n IN (3, 5)",
      // A filter on the build side of the pruning would make it another broadcast.
      """SELECT f.id, d.n FROM parted f JOIN days d ON f.day = d.day JOIN dim x ON x.k = d.n
        |WHERE d.n IN (3, 5) AND x.grp = 0""".stripMargin,
      """SELECT f.id, d.n, x.grp FROM parted f JOIN days d ON f.day = d.day JOIN dim x ON x.k = f.id
        |WHERE d.n IN (3, 5) AND x.k BETWEEN 210 AND 220""".stripMargin
    )
    for (sql <- queries) {
      val without = off {
        val df = spark.sql(sql)
        df.collect(): Unit
        df
      }
      val df = same(sql)
      assert(prunes(without) && read(without) == 200, executed(without))
      assert(prunes(df) && read(df) == 200, why(df))
    }
    val shuffledOnly = conf(shuffled: _*)(same(queries.head))
    assert(passed(shuffledOnly) == 200, why(shuffledOnly))
  }

  test("what is written to Hive tables is the same as without Springbok", Smoke, Slow) {
    def written(name: String): Seq[String] = {
      val join = "FROM texts f JOIN dim d ON f.id = d.id WHERE d.k BETWEEN"
      spark.sql(s"CREATE TABLE $name STORED AS TEXTFILE AS SELECT f.id, f.code, d.grp $join 100 AND 300")
      spark.sql(s"INSERT INTO $name SELECT f.id, f.code, d.grp $join 5000 AND 5100")
      spark.sql(
        s"CREATE TABLE ${name}_p (id BIGINT, code STRING) PARTITIONED BY (grp BIGINT) STORED AS RCFILE"
      )
      spark.sql(s"INSERT INTO ${name}_p PARTITION (grp) SELECT f.id, f.code, d.grp $join 7000 AND 7100")
      spark.sql(s"INSERT OVERWRITE TABLE ${name}_p PARTITION (grp = 1) SELECT f.id, f.code $join 400 AND 410")
      spark.sql(s"INSERT OVERWRITE TABLE $name SELECT f.id, f.code, d.grp $join 100 AND 200")
      // The table that is overwritten is read by the same query.
      spark.sql(
        s"INSERT OVERWRITE TABLE ${name}_p PARTITION (grp = 2) SELECT f.id, f.code FROM $name f JOIN dim d ON f.id = d.id WHERE d.grp = 2"
      )
      Seq(name, s"${name}_p").flatMap(t => sorted(spark.sql(s"SELECT * FROM $t").collect()))
    }
    conf(shuffled: _*) {
      val expected = off(written("off"))
      assert(expected.size > 150 && written("on") == expected)
    }
  }

  test("without adaptive execution, Hive's readers are left alone") {
    conf("spark.sql.adaptive.enabled" -> "false") {
      val df =
        same("SELECT f.id, d.grp FROM texts f JOIN dim d ON f.id = d.id WHERE d.k BETWEEN 2000 AND 2063")
      assert(used(df).isEmpty && applied(df).isEmpty, why(df))
    }
  }
}

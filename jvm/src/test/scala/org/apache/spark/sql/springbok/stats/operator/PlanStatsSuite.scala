package org.apache.spark.sql.springbok.stats.operator

import java.nio.file.{Files, Path, Paths, StandardOpenOption}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.plans.logical.{GlobalLimit, Join, LocalLimit, LogicalPlan}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.catalyst.PruningSubqueries
import org.apache.spark.sql.springbok.conf.StatsConf
import org.apache.spark.sql.springbok.stats.RuntimeFeedback
import org.apache.spark.sql.springbok.stats.estimate.{Estimate, Source, ValueRange}
import org.scalatest.Assertion

/** What is known of plans, and of which source; and what is not believed. */
class PlanStatsSuite extends SpringbokTest {
  private def plan(df: DataFrame): LogicalPlan = execution(df).optimizedPlan

  private def estimate(sql: String): Estimate = new PlanStats()(plan(spark.sql(sql)))

  private def rows(sql: String): Option[(Double, Source)] = estimate(sql).rows.map(r => r.value -> r.source)

  private def write(name: String, format: String, files: Int = 1): Path = {
    val path = folder.resolve(name)
    spark
      .sql(
        "SELECT id AS k, if(id % 4 = 0, NULL, id % 100) AS n, concat('text ', id) AS t, cast(id AS DECIMAL(9,2)) AS d, " +
          "date_add(DATE'2020-01-01', cast(id % 30 AS INT)) AS day FROM range(2000)"
      )
      .repartition(files)
      .write
      .format(format)
      .save(path.toString)
    spark.read.format(format).load(path.toString).createOrReplaceTempView(name)
    path
  }

  for (format <- Seq("parquet", "orc")) test(s"$format footers: rows, ranges, nulls and distinct values") {
    write(s"f_$format", format)
    val e = estimate(s"SELECT * FROM f_$format")
    assert(e.rows.exists(r => r.value == 2000 && r.source == Source.Footer))
    def column(name: String) = e.columns.collectFirst { case (a, c) if a.name == name => c }.get
    assert(column("k").range.contains(ValueRange(0, 1999)))
    assert(column("n").ndv.contains(99.0) && column("n").nullFraction.contains(0.25))
    assert(column("day").ndv.contains(30.0))
    assert(column("d").range.exists(_.max == 1999))
    assert(column("t").valueBytes.exists(b => b > 4 && b < 40))
    assert(rows(s"SELECT * FROM f_$format WHERE k < 500").exists(r => math.abs(r._1 - 500) < 5))
    assert(rows(s"SELECT * FROM f_$format WHERE n IS NULL").exists(r => math.abs(r._1 - 500) < 5))
    conf(StatsConf.FOOTERS_ENABLED.key -> "false")(assert(rows(s"SELECT * FROM f_$format").isEmpty))
  }

  test(
    "rows that a join's filter has removed are not removed again, and no more are added than its other side has for a key"
  ) {
    table("hundred", "SELECT id % 100 AS m, id AS v FROM range(20000)")
    table("fifty", "SELECT id % 50 AS m, id AS w FROM range(1000)")
    def estimated(sql: String, filtered: Join => LogicalPlan, kept: Double): Double = {
      val feedback = new RuntimeFeedback {
        override def retained(stage: SparkPlan): Double = 1
        override def retainedFor(j: Join, side: LogicalPlan): Option[Double] =
          Option.when(side eq filtered(j))(kept)
        override def keysAreUnique(b: BroadcastQueryStageExec): Option[Boolean] = None
      }
      new PlanStats(Some(feedback))(plan(spark.sql(sql))).rows.get.value
    }
    def joined(kept: Double) =
      estimated("SELECT a.v, b.w FROM hundred a JOIN fifty b ON a.m = b.m", _.left, kept)
    val all = joined(kept = 1)
    assert(math.abs(joined(kept = 0.8) / (all / 0.8) - 1) < 0.01)
    // 20 rows for each of 50 keys, for each of 20,000 rows that all have a match.
    assert(math.abs(joined(kept = 0.001) / 400000 - 1) < 0.01)
    // A filter of the right side's rows takes none of the left side's.
    def semi(kept: Double) = estimated(
      "SELECT a.v FROM hundred a LEFT SEMI JOIN (SELECT * FROM fifty WHERE w < 10) b ON a.m = b.m",
      _.right,
      kept
    )
    assert(math.abs(semi(kept = 0.5) / (semi(kept = 1) / 0.5) - 1) < 0.01 && semi(kept = 0.001) <= 20000)
  }

  test("groups by several columns of a table are no more than it has rows") {
    table(
      "dims",
      "SELECT id AS k, id * 1000 AS a, id * 7919 % 100003 AS b, concat('x', id) AS s FROM range(500)"
    )
    table("facts", "SELECT id % 500 AS k, id AS v FROM range(20000)")
    def by(columns: String): Double = estimate(
      s"SELECT $columns, count(*) FROM facts f JOIN dims d ON f.k = d.k GROUP BY $columns"
    ).rows.get.bound
    assert(by("a, b") == 501 && by("a, b, s") == 501 && by("s") == 501)
    assert(by("a, b, v") == 20000)
  }

  test("distinct values of integers without a narrow range: counted in dictionaries of two row groups") {
    def write(name: String, v: String): Unit = {
      val path = folder.resolve(s"counted_$name").toString
      val columns = Seq(s"$v * 1000003L AS v", "id DIV 10 * 1000003L AS own", "id * 1000003L AS u")
      spark.range(8000).selectExpr(columns: _*).repartitionByRange(4, col("u")).write.parquet(path)
      spark.read.parquet(path).createOrReplaceTempView(name)
    }
    // Values that are in each file, and values that are in one of them.
    write("sparse", "pmod(hash(id), 300)")
    write("other", "pmod(hash(id, 1), 400)")
    def near(sql: String, expected: Double, bound: Double) = {
      val r = estimate(sql).rows.get
      assert(math.abs(r.value / expected - 1) < 0.1 && math.abs(r.bound / bound - 1) < 0.1, s"$sql: $r")
    }
    near("SELECT v, count(*) FROM sparse GROUP BY v", 300, 8000)
    near("SELECT own, count(*) FROM sparse GROUP BY own", 800, 8000)
    near("SELECT u, count(*) FROM sparse GROUP BY u", 8000, 8000)
    near("SELECT * FROM sparse WHERE v = 1000003", 8000 / 300.0, 8000)
    near("SELECT * FROM sparse a JOIN other b ON a.v = b.v", 8000 * 8000 / 400.0, 64e6)
    conf(StatsConf.DICTIONARIES_ENABLED.key -> "false") {
      near("SELECT v, count(*) FROM sparse GROUP BY v", 8000, 8000)
    }
  }

  /** The condition's expected rows are those, but for this fraction of them. */
  private def nearRows(table: String, where: String, expected: Double, tolerance: Double): Assertion = {
    val found = estimate(s"SELECT * FROM $table WHERE $where").rows.get.value
    assert(math.abs(found / expected - 1) < tolerance, s"$where: $found rows")
  }

  // Three quarters of the rows were once expected to be a hundredth: their part of a range that few rows widen.
  test("comparisons: the row groups' ranges are a histogram, and each end of a comparison counts") {
    val columns =
      "if(id < 6000, id % 100, id * 2) AS v, id % 12 + 1 AS m, cast(id % 10 / 10 AS DECIMAL(9,1)) AS d"
    table("uneven", s"SELECT $columns FROM range(8000)", groupRows = Some(2000))
    def near(where: String, expected: Double) = nearRows("uneven", where, expected, 0.1)
    near("v < 100", 6000)
    near("v >= 14000", 1000)
    near("v < 100 OR v >= 14000", 6250)
    near("m BETWEEN 1 AND 3", 2000)
    near("m > 3 AND 6 > m", 1333)
    near("NOT (m < 4)", 6000)
    near("d BETWEEN 0.1 AND 0.2", 1600)
    near("d > 0.5", 3200)
  }

  test("comparisons: rows are sampled where the row groups' ranges tell little") {
    val path = folder.resolve("recent").toString
    val year = "cast(if(id % 10 = 0, 1921 + pmod(hash(id), 90), 2011 + pmod(hash(id), 10)) AS INT)"
    val columns =
      Seq(s"$year AS y", s"make_date($year, 1, 1) AS d", s"cast($year AS DECIMAL(9,2)) AS c", "id AS u")
    spark.range(200000).selectExpr(columns: _*).repartition(3).sortWithinPartitions("y").write.parquet(path)
    spark.read.parquet(path).createOrReplaceTempView("recent")
    def near(where: String, expected: Double) = nearRows("recent", where, expected, 0.2)
    near("y > 2010", 180000)
    near("y BETWEEN 1931 AND 1980", 11111)
    near("d >= DATE'2011-01-01'", 180000)
    near("c < 2011", 20000)
    near("u < 1000", 1000)
    // No sampled row has such a value.
    near("y BETWEEN 1921 AND 1920 OR y > 2020", 2 * 200000.0 / 100)
    conf(StatsConf.DICTIONARIES_ENABLED.key -> "false")(near("y > 2010", 20000))
  }

  test("a condition on a grouping column leaves few groups") {
    table("years", "SELECT id AS k, id % 200 AS y, concat('s', id) AS s FROM range(5000)")
    def groups(where: String) =
      estimate(s"SELECT s, y, count(*) FROM years WHERE $where GROUP BY s, y").rows.get
    assert(groups("y = 7").value <= 25 && groups("k < 4000 AND y IN (1, 2)").value <= 50)
    val named = estimate("SELECT y, count(*) FROM years WHERE y IN (1, 2, 3) GROUP BY y").rows.get
    assert(named.value == 3)
  }

  // Nulls that an outer join adds were once overlooked where the column's values were known: `IS NULL` was
  // expected to keep no row.
  test("predicates on strings: the values in the dictionaries, each as often as any other") {
    val texts = "SELECT id, concat('c', id % 20) AS c, if(id % 2 = 0, NULL, concat('n', id % 10)) AS n, " +
      "concat('s', id div 1000) AS s, concat('u', id) AS u FROM range(8000)"
    table("few", texts)
    def near(name: String, where: String, expected: Double, bound: Double) = {
      val r = estimate(s"SELECT * FROM $name WHERE $where").rows.get
      assert(math.abs(r.value - expected) < 10 && math.abs(r.bound - bound) < 10, s"$where: $r")
    }
    near("few", "c = 'c7'", 400, 4000)
    near("few", "c IN ('c7', 'c8', 'x')", 800, 7982)
    near("few", "c LIKE 'c1%'", 4400, 7991)
    near("few", "c <> 'c7'", 7600, 7999)
    near("few", "upper(c) = 'C7' OR c = 'c9'", 800, 7982)
    near("few", "c = 'x'", 200, 2000)
    near("few", "n = 'n3'", 800, 3996)
    near("few", "c = id", 800, 8000)
    conf(StatsConf.DICTIONARIES_ENABLED.key -> "false")(near("few", "c = 'c7'", 800, 8000))
    // Of several files the first and the last are looked at: alike in c, and not in s.
    val more = folder.resolve("more").toString
    spark.sql(texts).repartitionByRange(4, col("id")).write.parquet(more)
    spark.read.parquet(more).createOrReplaceTempView("more")
    near("more", "c = 'c7'", 400, 4000)
    near("more", "s = 's3'", 800, 8000)
    near("few", "s = 's3'", 1000, 1202)
    // All that is said of a column's values is one predicate: nulls count once.
    near("few", "n LIKE 'n%' AND n <> 'n1' AND n IS NOT NULL", 3200, 3999)
    near("few", "(c = 'c1' AND n IS NOT NULL) OR c = 'c2'", 669, 6828)
    // Nulls that an outer join adds are not counted, nor is a number that was a text.
    near("few a LEFT JOIN few b ON a.id = b.id AND b.id < 10", "b.c IS NULL", 800, 8000)
    near("(SELECT cast(c AS INT) i FROM few LIMIT 5000)", "i > 5", 500, 5000)
    // Groups of a column whose values are known.
    assert(rows("SELECT c, count(*) FROM few GROUP BY c").exists(_._1 == 21))
  }

  // One keyword of a table of unique keywords was once taken for 80% of it.
  test(
    "predicates on strings: rows of the chunks, where a dictionary does not tell how frequent a value is"
  ) {
    def near(name: String, where: String, expected: Double, bound: Double) = {
      val r = estimate(s"SELECT * FROM $name WHERE $where").rows.get
      // Which files are sampled depends on their names, which are random.
      def close(a: Double, b: Double) = math.abs(a - b) <= math.max(2.0, 0.25 * b)
      assert(close(r.value, expected) && close(r.bound, bound), s"$where: $r")
    }
    def write(name: String, files: Int, options: (String, String)*): Unit = {
      val path = folder.resolve(s"sampled_$name").toString
      val texts = Seq(
        "id",
        "concat('u', id) AS u",
        "if(id % 100 = 0, concat('v', id % 700), 'DONE') AS d",
        "concat('c', id % 20) AS c",
        "if(id % 4 = 0, concat('u', id), NULL) AS n",
        "concat('r', id div 4000) AS r"
      )
      val rows = spark.range(40000).selectExpr(texts: _*)
      val parts = if (files == 1) rows.coalesce(1) else rows.repartitionByRange(files, col("id"))
      parts.write.options(options.toMap).parquet(path)
      spark.read.parquet(path).createOrReplaceTempView(name)
    }
    // Values without a dictionary, one of which may be any number of rows that a sample overlooks.
    write("unique", 1)
    near("unique", "u = 'x'", 1, 60)
    near("unique", "u IN ('x', 'y', 'z')", 3, 60)
    near("unique", "u LIKE 'u7%'", 1111, 1630)
    near("unique", "n = 'x'", 1, 60)
    near("unique", "n IS NULL OR n LIKE 'u%'", 40000, 40000)
    // Of a dictionary's values, one is nearly all there is.
    near("unique", "d = 'DONE'", 39600, 40000)
    near("unique", "d <> 'DONE'", 300, 600)
    near("unique", "d = 'x'", 10, 60)
    // A writer that makes no dictionaries; runs of a value.
    write("plain", 1, "parquet.enable.dictionary" -> "false")
    near("plain", "c = 'c7'", 2000, 2600)
    near("plain", "r = 'r3'", 4000, 4600)
    near("plain", "r IN ('r3', 'r4')", 8000, 9100)
    // Files that are not read may be different. In a table that is sorted by a column they are.
    write("several", 4, "parquet.enable.dictionary" -> "false")
    near("several", "c = 'c7'", 2000, 25000)
    near("several", "r = 'r3'", 4000, 40000)
    // A file of nulls tells nothing of the files between it and the last one.
    val holes = folder.resolve("sampled_holes").toString
    spark
      .range(40000)
      .selectExpr("id", "if(id < 12000, NULL, if(id < 28000, 'w', concat('w', id))) AS w")
      .repartitionByRange(4, col("id"))
      .write
      .parquet(holes)
    spark.read.parquet(holes).createOrReplaceTempView("holes")
    assert(estimate("SELECT * FROM holes WHERE w = 'w'").rows.exists(_.bound >= 0.95 * 28000))
    // One file is too large for a sample, and its dictionary does not tell that one value is nearly all there is.
    val uneven = folder.resolve("sampled_uneven").toString
    for (n <- Seq(250000, 20000))
      spark
        .range(n.toLong)
        .selectExpr("if(id % 100 = 0, concat('v', id % 7000), 'DONE') AS d")
        .coalesce(1)
        .write
        .mode("append")
        .parquet(uneven)
    spark.read.parquet(uneven).createOrReplaceTempView("uneven")
    assert(estimate("SELECT * FROM uneven WHERE d = 'DONE'").rows.exists(_.bound >= 0.95 * 270000))
    // A chunk that is too large.
    table("large", "SELECT concat('u', id) AS u, id DIV 10 AS i FROM range(600000)")
    near("large", "u = 'x'", 10, 480000)
    near("large", "u LIKE 'u7%'", 60000, 600000)
    // A guess for what cannot be known: most rows are not like a pattern.
    near("large", "u NOT LIKE 'u7%'", 540000, 600000)
  }

  // A join with groups by several keys once had no bound, and was shuffled although its 92,000 rows could be
  // broadcast.
  test("rows of a join are bounded by a side without two rows of a key, else by nothing: skew has no bound") {
    write("keyed", "parquet")
    def bound(sql: String) = estimate(sql).rows.get.bound
    val all = bound("SELECT * FROM keyed")
    assert(bound("SELECT a.n FROM keyed a JOIN keyed b ON a.n = b.k") <= all)
    assert(
      bound(
        "SELECT a.n FROM keyed a JOIN (SELECT DISTINCT n FROM keyed) b ON a.k % 7 = 1 AND a.n = b.n"
      ) <= all
    )
    // Groups by several keys: unique in all of them, also where a semi join has left some; in a part of them not.
    val pairs = "(SELECT DISTINCT n, day FROM keyed)"
    assert(bound(s"SELECT a.n FROM keyed a JOIN $pairs b ON a.n = b.n AND a.day = b.day") <= all)
    val left = s"(SELECT * FROM $pairs p LEFT SEMI JOIN keyed s ON p.n = s.k)"
    assert(bound(s"SELECT a.n FROM keyed a JOIN $left b ON a.n = b.n AND a.day = b.day AND a.k > b.n") <= all)
    assert(bound(s"SELECT a.n FROM keyed a JOIN $pairs b ON a.n = b.n") > all)
    val skewed = estimate("SELECT a.n FROM keyed a JOIN keyed b ON a.n = b.n").rows.get
    assert(skewed.value < 30000 && skewed.bound == 1500.0 * 1500)
    // A key that is there several times since a join below is no key any more.
    val below = "(SELECT a.k FROM keyed a JOIN keyed b ON a.n = b.n)"
    assert(bound(s"SELECT x.n FROM keyed x JOIN $below y ON x.n = y.k") > all * 9)
    // As often as before, where the other side's key is unique.
    val once = "(SELECT a.k FROM keyed a JOIN keyed b ON a.n = b.k)"
    assert(bound(s"SELECT x.n FROM keyed x JOIN $once y ON x.n = y.k") <= all)
  }

  test("rows of a filtered dimension whose keys reach further than the facts' are among the facts'") {
    write("reach", "parquet")
    def expected(where: String) =
      estimate(s"SELECT f.k FROM reach f JOIN reach d ON f.n = d.k WHERE $where").rows.get.value
    // 100 of 2,000 keys are in the facts, 20 are asked for.
    assert(expected("d.d < 20") > 200 && expected("d.d < 20") < 500)
    // The whole dimension, and a part that is more than the facts have: every fact finds one row, not many.
    assert(expected("true") > 1000 && expected("true") <= 2000)
    assert(expected("d.d < 1000") > 1000 && expected("d.d < 1000") <= 2000)
  }

  test(
    "analyzed statistics of files that are many times larger now are not believed, whatever their format"
  ) {
    spark.sql("CREATE TABLE stale (k BIGINT) USING csv")
    spark.sql("INSERT INTO stale SELECT id FROM range(100)")
    spark.sql("ANALYZE TABLE stale COMPUTE STATISTICS")
    assert(rows("SELECT * FROM stale").exists(_._1 == 100))
    val stats = spark.sessionState.catalog
      .getTableMetadata(org.apache.spark.sql.catalyst.TableIdentifier("stale"))
      .stats
    spark.sql("INSERT INTO stale SELECT id FROM range(100000)")
    spark.sessionState.catalog.alterTableStats(org.apache.spark.sql.catalyst.TableIdentifier("stale"), stats)
    assert(rows("SELECT * FROM stale").exists { case (n, from) => n > 90000 && from == Source.Sample })
    spark.sql("DROP TABLE stale")
  }

  test("what a table without footers or lines holds is unknown, not nothing") {
    val path = folder.resolve("text").toString
    spark.range(1000).selectExpr("id AS k", "concat('row ', id) AS t").write.json(path)
    def read(options: (String, String)*): Unit =
      spark.read
        .schema("k BIGINT, t STRING")
        .options(options.toMap)
        .json(path)
        .createOrReplaceTempView("text")
    read("multiLine" -> "true")
    assert(rows("SELECT * FROM text").isEmpty && estimate("SELECT * FROM text").bytes.isEmpty)
    read("lineSep" -> "|")
    assert(rows("SELECT * FROM text").isEmpty)
    read()
    assert(rows("SELECT * FROM text").nonEmpty)
    conf(StatsConf.FOOTERS_ENABLED.key -> "false")(assert(rows("SELECT * FROM text").isEmpty))
    val zipped = folder.resolve("zipped").toString
    spark.range(1000).selectExpr("id AS k").write.option("compression", "gzip").csv(zipped)
    assert(rows(s"SELECT * FROM csv.`$zipped`").isEmpty)
    val long = folder.resolve("long").toString
    spark.sql("SELECT repeat('x', 200000) AS t").write.text(long)
    assert(rows(s"SELECT * FROM text.`$long`").isEmpty)
  }

  test("lines of text are counted in a sample, and may be four times as many") {
    val data = "SELECT id AS k, concat('row ', id) AS t FROM range(100000)"
    for (format <- Seq("csv", "json", "text")) {
      val path = folder.resolve(s"lines_$format").toString
      val writer =
        spark.sql(if (format == "text") "SELECT concat('row ', id) AS t FROM range(100000)" else data)
      writer.repartition(6).write.option("header", "true").format(format).save(path)
      val e = spark.read.option("header", "true").format(format).load(path)
      e.createOrReplaceTempView("lines")
      val found = estimate("SELECT * FROM lines").rows.get
      assert(found.source == Source.Sample && found.value > 90000 && found.value < 110000, s"$format: $found")
      assert(found.bound >= 100000 && found.bound < 500000 && found.most > found.bound, s"$format: $found")
    }
    same("SELECT count(*) FROM lines a JOIN lines b ON a.value = b.value"): Unit
  }

  test("a sample of the files stands for the others, by bytes") {
    write("many", "parquet", files = 20)
    conf(StatsConf.FOOTERS_MAX_FILES.key -> "4") {
      assert(rows("SELECT * FROM many").exists(r => r._1 > 1500 && r._1 < 2500))
    }
  }

  test("a table whose partitions the catalog keeps: rows by footers, values by the partitions") {
    val location = folder.resolve("cataloged")
    spark.sql(
      s"CREATE TABLE cataloged (k BIGINT, day DATE, kind STRING) USING parquet PARTITIONED BY (day, kind) LOCATION '$location'"
    )
    spark.sql(
      "INSERT INTO cataloged SELECT id, if(id % 10 = 0, NULL, date_add(DATE'2024-01-01', cast(id % 10 AS INT))), " +
        "concat('k', id % 2) FROM range(1000)"
    )
    def column(name: String) =
      estimate("SELECT * FROM cataloged").columns.collectFirst { case (a, c) if a.name == name => c }.get
    assert(rows("SELECT * FROM cataloged").exists(r => math.abs(r._1 - 1000) < 9 && r._2 == Source.Footer))
    assert(
      column("day").ndv.contains(9.0) && column("day").tight && column("day").nullFraction.exists(_ < 0.2)
    )
    assert(column("kind").ndv.contains(2.0))
    // Spark has listed the partitions that a condition leaves.
    assert(rows("SELECT * FROM cataloged WHERE kind = 'k1'").exists(_._1 <= 500))
    // What the session itself adds is seen at once.
    spark.sql("INSERT INTO cataloged SELECT id, DATE'2024-02-01', 'k3' FROM range(1000)")
    assert(rows("SELECT * FROM cataloged").exists(_._1 > 1500))
    assert(column("day").ndv.contains(10.0))
    spark.catalog.refreshTable("cataloged")
    conf(StatsConf.FOOTERS_MAX_PARTITIONS.key -> "3")(assert(rows("SELECT * FROM cataloged").isEmpty))
    spark.sql("DROP TABLE cataloged"): Unit
  }

  // The pruning counted as a tenth, and its join dropped the same rows once more: it expected 400.
  test("partitions that Spark prunes for a join are not dropped again by the join") {
    table("sales", "SELECT id AS v, id % 40 AS s, id % 20 AS day FROM range(20000)", partitionBy = Seq("day"))
    table("days", "SELECT id AS day, id % 5 AS week FROM range(20)")
    table("stores", "SELECT id AS s, id % 4 AS n FROM range(40)")
    def joins(sql: String) = {
      val stats = new PlanStats()
      val p = plan(spark.sql(sql))
      assert(PruningSubqueries.of(p).nonEmpty, p)
      p.collect { case j: Join => Seq(j.left, j).map(stats(_).rows.get) }.flatten
    }
    val pruned = "SELECT v FROM sales s JOIN days d ON s.day = d.day"
    val semi = "SELECT v FROM sales s LEFT SEMI JOIN (SELECT day FROM days WHERE week = 3) d ON s.day = d.day"
    // The rows of partitions whose footers were not read are known by their bytes.
    def near(n: Double, expected: Double) = math.abs(n / expected - 1) < 0.01
    for (
      sql <- Seq(s"$pruned WHERE week = 3", s"$pruned JOIN stores USING (s) WHERE week = 3 AND n < 9", semi);
      r <- joins(sql)
    ) assert(near(r.value, 4000) && near(r.bound, 20000), sql)
    // Two days are left of the four that were expected.
    val fewer = plan(spark.sql(s"$pruned WHERE week = 3")).collectFirst { case j: Join =>
      j.copy(right = GlobalLimit(Literal(2), j.right))
    }
    assert(fewer.exists(j => near(new PlanStats()(j).rows.get.value, 2000)))
  }

  test("columns of a union: the values of one domain, or of several ranges") {
    write("early", "parquet")
    def ndv(sql: String) = estimate(sql).columns.head._2.ndv
    assert(ndv("SELECT day FROM early UNION ALL SELECT day FROM early").contains(30.0))
    assert(ndv("SELECT k FROM early UNION ALL SELECT k FROM early").contains(2000.0))
    spark.range(5000, 6000).write.parquet(folder.resolve("late").toString)
    spark.read.parquet(folder.resolve("late").toString).createOrReplaceTempView("late")
    assert(ndv("SELECT k FROM early UNION ALL SELECT id FROM late").contains(3000.0))
    assert(estimate("SELECT k FROM early UNION ALL SELECT id * 2 FROM late").columns.isEmpty)
  }

  test("a timestamp as a number has no range of microseconds, nor what is narrowed the one of the wider") {
    table("moments", "SELECT timestamp_seconds(id) AS t, id AS k, CAST(id AS INT) AS i FROM range(1000)")
    def known(expression: String) = estimate(s"SELECT $expression AS x FROM moments").columns.nonEmpty
    assert(known("i") && known("CAST(i AS BIGINT)"))
    assert(!known("CAST(t AS BIGINT)") && !known("CAST(k AS INT)"))
  }

  test("sizes that stand for unknown ones are none") {
    val standIn = org.apache.spark.sql.internal.SQLConf.get.defaultSizeInBytes
    assert(Estimate.known(1000).contains(1000.0) && Estimate.known(standIn).isEmpty)
    conf("spark.sql.defaultSizeInBytes" -> "10")(
      assert(Estimate.known(1000).isDefined && Estimate.known(10).isEmpty)
    )
  }

  test("operators: set operations, samples, expansions, generators, cached tables") {
    write("t", "parquet")
    assert(rows("SELECT * FROM t TABLESAMPLE (10 PERCENT)").map(_._1).exists(r => math.abs(r - 200) < 1))
    assert(rows("SELECT k FROM t UNION ALL SELECT k FROM t").map(_._1).contains(4000.0))
    assert(rows("SELECT k, explode(array(1, 2, 3)) FROM t").map(_._1).contains(6000.0))
    assert(rows("SELECT k, explode(split(t, ' ')) FROM t").isEmpty)
    assert(rows("SELECT n, day, count(*) FROM t GROUP BY CUBE (n, day)").isDefined)
    // 30 days and null, on two levels.
    val levels = estimate("SELECT day, count(*) FROM t GROUP BY ROLLUP (day)").rows.get
    assert(levels.value == 60 && levels.bound == 31 * 2, levels)
    assert(rows("SELECT k FROM t INTERSECT SELECT k FROM t WHERE k < 100").exists(_._1 <= 2000))
    assert(rows("SELECT * FROM t LIMIT 7").map(_._1).contains(7.0))
    spark.sql("CACHE LAZY TABLE c AS SELECT * FROM t WHERE t LIKE '%1'"): Unit
    assert(rows("SELECT * FROM c").forall(_._2 == Source.Estimated))
    spark.sql("SELECT count(*), max(t) FROM c").collect(): Unit
    assert(rows("SELECT * FROM c").contains((200.0, Source.Runtime)))
    spark.sql("UNCACHE TABLE c"): Unit
    // A row without a match brings a null that the table does not have.
    val anti = estimate("SELECT a.k FROM t a LEFT JOIN t b ON a.k = b.k + 1 WHERE b.k IS NULL")
    assert(anti.rows.exists(_.bound >= 2000))
  }

  test("the width of a row: long texts stay long in unions, in what is computed of them and above") {
    table("texts", "SELECT id AS k, concat(repeat(uuid(), 30), id) AS t FROM range(2000)")
    val queries = Seq(
      "SELECT t FROM texts UNION ALL SELECT t FROM texts",
      "SELECT lower(t) AS x FROM texts",
      "SELECT k, max(t) FROM texts GROUP BY k",
      "SELECT a.k, x FROM texts a JOIN (SELECT k, lower(t) AS x FROM texts) b ON a.k = b.k",
      "SELECT x, row_number() OVER (ORDER BY k) FROM (SELECT k, coalesce(t, '') AS x FROM texts)",
      "SELECT explode(array(1, 2)), x FROM (SELECT concat(t, 'a') AS x FROM texts)"
    )
    for (sql <- queries) assert(estimate(sql).rowBytes > 1000, sql)
    assert(estimate("SELECT length(t) FROM texts").rowBytes == 16)
  }

  test("groups: nulls are one more, and no column has no group") {
    val flags = (1 to 5).map(i => s"IF(id % ${i + 1} = 0, 1, NULL) AS f$i").mkString(", ")
    table("flagged", s"SELECT id % 10 AS k, $flags, CAST(NULL AS INT) AS none FROM range(10000)")
    val all = estimate("SELECT k, count(*) FROM flagged GROUP BY k, f1, f2, f3, f4, f5, none").rows.get
    assert(all.bound >= 320 && all.bound <= 10000, all)
  }

  test("rows that Spark has guessed bound nothing") {
    spark.sql(
      "CREATE TABLE skewed USING parquet AS SELECT id, IF(id % 2 = 0, 0, id) AS customer FROM range(10000)"
    )
    spark.sql("ANALYZE TABLE skewed COMPUTE STATISTICS FOR ALL COLUMNS")
    conf("spark.sql.cbo.enabled" -> "true") {
      val checked = spark.sql("SELECT * FROM skewed WHERE customer = 0").localCheckpoint()
      val rows = new PlanStats()(execution(checked).optimizedPlan).rows
      assert(rows.forall(_.most > 10000), rows)
    }
  }

  // Without the writer's count of bytes such texts were once as wide as any text.
  test("the width of texts that are stored by a dictionary, where the writer has not counted their bytes") {
    val path = folder.resolve("uncounted").toString
    spark
      .sql(
        "SELECT id AS k, concat(repeat('some text ', 50), lpad(id % 100, 3, '0')) AS t, if(id > 5, NULL, 'a') AS n FROM range(20000)"
      )
      .coalesce(1)
      .write
      .option("parquet.size.statistics.enabled", "false")
      .parquet(path)
    val e = estimate(s"SELECT t FROM parquet.`$path`")
    assert(e.rowBytes > 500 && e.rowBytes < 600, e.rowBytes)
    assert(estimate(s"SELECT n FROM parquet.`$path`").rowBytes < 50)
  }

  // What a group collects was once as wide as one value of the input.
  test("the width of groups that hold all of their input") {
    table("payloads", "SELECT id AS k, id % 10 AS g, repeat(uuid(), 30) AS t FROM range(2000)")
    for (f <- Seq("collect_list(t)", "collect_set(t)"))
      assert(estimate(s"SELECT g, $f AS l FROM payloads GROUP BY g").boundBytes.exists(_ > 2000 * 1000), f)
    assert(estimate("SELECT g, count(t), max(t) FROM payloads GROUP BY g").boundBytes.exists(_ < 200 * 1000))
    assert(estimate("SELECT k, collect_list(t) OVER (PARTITION BY g) AS l FROM payloads").rows.isEmpty)
  }

  test("one row of an outer join's preserved side may have all matches, and the others come on top") {
    table("once", "SELECT id AS k FROM range(1000)")
    table("often", "SELECT 7L AS k, id AS v FROM range(1000)")
    def bound(sql: String): Double = estimate(s"SELECT v FROM $sql ON o.k = f.k").rows.get.bound
    assert(bound("once o LEFT JOIN often f") == 2000 && bound("often f RIGHT JOIN once o") == 2000)
    assert(bound("often f LEFT JOIN once o") == 1000)
    val none = "SELECT k FROM once LATERAL VIEW OUTER explode(CAST(array() AS ARRAY<INT>)) x AS y"
    assert(estimate(none).rows.exists(_.bound == 1000))
  }

  // The range of a few files was once a bound for the groups of all.
  test("rows without a match: most of a table, of which a tenth is in the other one by two keys") {
    table("sold_tickets", "SELECT id AS t, id % 100 AS i, id % 10 AS d FROM range(20000)")
    table("sent_back", "SELECT id * 10 AS t, id * 10 % 100 AS i FROM range(2000)")
    table("ten", "SELECT id AS d FROM range(10)")
    def part(sql: String) = rows(sql).get._1 / 20000
    val on = "ON s.t = r.t AND s.i = r.i"
    for (
      sql <- Seq(
        s"SELECT s.* FROM sold_tickets s LEFT JOIN sent_back r $on WHERE r.t IS NULL",
        s"SELECT s.* FROM sent_back r RIGHT JOIN sold_tickets s $on WHERE r.i IS NULL",
        s"SELECT s.* FROM sold_tickets s LEFT ANTI JOIN sent_back r $on"
      )
    ) {
      assert(part(sql) > 0.8 && part(sql) <= 0.9, sql)
      assert(spark.sql(sql).count() == 18000)
    }
    // Whether a few rows lack a match is a guess, and bounds nothing.
    val all = "SELECT s.* FROM sold_tickets s LEFT JOIN ten d ON s.d = d.d WHERE d.d IS NULL"
    assert(estimate(all).rows.exists(r => r.value == 2000 && r.bound == 20000))
  }

  test("groups are not bounded by the range that a sample of the files has") {
    val path = folder.resolve("sampled").toString
    for (key <- Seq("id % 100", "id * 7919", "id * 7919 + 1"))
      spark.range(5000).selectExpr(s"$key AS k").coalesce(1).write.mode("append").parquet(path): Unit
    conf(StatsConf.FOOTERS_MAX_FILES.key -> "1") {
      assert(estimate(s"SELECT k, count(*) FROM parquet.`$path` GROUP BY k").rows.exists(_.bound >= 10000))
    }
  }

  test("a comparison with NaN is not taken for a place in the range") {
    table("halves", "SELECT id / 2 AS x FROM range(1000)")
    val rows = new PlanStats()(
      execution(spark.sql("SELECT * FROM halves WHERE x < double('NaN')")).optimizedPlan
    ).rows
    assert(rows.exists(r => r.value > 0 && r.bound == 1000 && r.most == 1000), rows)
  }

  // ORC has no smallest value of a stripe that begins with NaN.
  test("NaN in an ORC file leaves no range") {
    val path = folder.resolve("nan").toString
    spark
      .range(0, 1000, 1, 1)
      .selectExpr("if(id = 0, double('NaN'), double(id)) AS x")
      .write
      .orc(path)
    assert(estimate(s"SELECT * FROM orc.`$path`").columns.values.forall(_.range.isEmpty))
    assert(estimate(s"SELECT * FROM orc.`$path` WHERE x < 100").rows.exists(_.bound == 1000))
  }

  // Spark measures a broadcast in whole pages.
  test("the width of a row above a finished broadcast is that of its values") {
    table("nations", "SELECT id AS n, concat('nation ', id) AS name FROM range(25)")
    table("suppliers", "SELECT id AS s, id % 25 AS n, concat('supplier ', id) AS text FROM range(1000)")
    table("deliveries", "SELECT id % 1000 AS s, id AS v FROM range(50000)")
    val inner = "SELECT s, text, name FROM suppliers JOIN nations ON suppliers.n = nations.n"
    val df = same(s"SELECT count(*), max(text), max(name) FROM deliveries f JOIN ($inner) x ON f.s = x.s")
    val sides =
      record(df).joins.flatMap(_.latest).flatMap(_.input).flatMap(in => Seq(in.left.size, in.right.size))
    val measured = executed(df).collect { case b: BroadcastQueryStageExec => b }.size
    assert(sides.count(_.rowBytes > 200) <= measured, sides.map(_.rowBytes))
    val above = record(df).joins.flatMap(_.latest).last.input.get
    assert(
      Seq(above.left.size, above.right.size).exists(s => s.rows.exists(_ <= 1000) && s.rowBytes < 200),
      above
    )
  }

  test("a limit of each partition bounds no rows") {
    table("limited", "SELECT id AS k FROM range(2000)")
    val limited = new PlanStats()(LocalLimit(Literal(3), plan(spark.sql("SELECT * FROM limited"))))
    assert(limited.rows.exists(r => r.value == 3 && r.bound == 2000))
  }

  private def notes(sql: String): Seq[(String, String)] =
    record(same(sql)).joins.head.planned.get.notes.map(n => n.code -> n.text)

  test("analyzed statistics that the files contradict are ignored, and the report says so") {
    write("other", "parquet")
    val location = folder.resolve("stale")
    spark.sql(s"CREATE TABLE stale USING parquet LOCATION '$location' AS SELECT id AS k FROM range(10)"): Unit
    spark.sql("ANALYZE TABLE stale COMPUTE STATISTICS FOR ALL COLUMNS"): Unit
    assert(rows("SELECT * FROM stale").contains((10.0, Source.Analyzed)))
    assert(notes("SELECT count(*) FROM other o JOIN stale s ON o.k = s.k").isEmpty)
    // Files that the catalog has not heard of.
    spark.range(5000).toDF("k").write.mode("append").parquet(location.toString)
    spark.catalog.refreshTable("stale")
    assert(rows("SELECT * FROM stale").contains((5010.0, Source.Footer)))
    val found = notes("SELECT count(*) FROM other o JOIN stale s ON o.k = s.k")
    assert(found.map(_._1) == Seq("STATS_IGNORED"))
    assert(found.head._2.contains("count 10 rows, the files' footers 5010"))
  }

  test("no rows by ANALYZE, and files: their lines count") {
    spark.sql(
      s"CREATE TABLE empty USING csv LOCATION '${folder.resolve("empty")}' AS SELECT 1 AS k WHERE false"
    ): Unit
    spark.sql("ANALYZE TABLE empty COMPUTE STATISTICS"): Unit
    spark.range(100).toDF("k").write.mode("append").csv(folder.resolve("empty").toString)
    spark.catalog.refreshTable("empty")
    assert(rows("SELECT * FROM empty").contains((100.0, Source.Sample)))
  }

  test("broken and missing files: the query plans, and what could not be read is reported") {
    val path = write("broken", "parquet", files = 3)
    write("whole", "parquet")
    val files = Files.list(path).iterator.asScala.filter(_.toString.endsWith(".parquet")).toSeq
    // Truncated by a byte: the footer's magic number is gone.
    Files.write(
      files.head,
      Files.readAllBytes(files.head).dropRight(1),
      StandardOpenOption.TRUNCATE_EXISTING
    ): Unit
    Files.deleteIfExists(Paths.get(path.toString, s".${files.head.getFileName}.crc")): Unit
    spark.read.schema(spark.table("whole").schema).parquet(path.toString).createOrReplaceTempView("broken")
    val df = spark.sql("SELECT count(*) FROM whole w JOIN broken b ON w.k = b.k")
    executed(df)
    val d = record(df).joins.head.planned.get
    assert(d.notes.map(_.code) == Seq("STATS_IGNORED"))
    assert(d.notes.head.text.startsWith("1 footers of broken ignored"))
    assert(d.input.exists(i => i.right.rows.isDefined))
    conf("spark.sql.files.ignoreCorruptFiles" -> "true") {
      assert(same("SELECT count(*) FROM whole w JOIN broken b ON w.k = b.k").collect().head.getLong(0) < 2000)
    }
    Files.delete(files(1))
    executed(spark.sql("SELECT count(*) FROM whole w JOIN broken b ON w.k = b.k")): Unit
  }
}

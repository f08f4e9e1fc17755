package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.{EqualNullSafe, Literal}
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.springbok.{Slow, SparkFeatures, SpringbokTest}
import org.apache.spark.sql.springbok.stats.estimate.ValueRange
import org.apache.spark.sql.springbok.stats.source.{RowGroup, TableFooters}

/** Keys that a file's reader, or the catalog, would take for others, or that it cannot read at all. */
class PushedKeysSuite extends SpringbokTest {
  private def removed(df: DataFrame): Long = 30000 - scanRows(df, "v")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    // In Latin-1, as text files and other systems leave it.
    val latin = "CAST(concat(X'5A', X'FC', CAST(CAST(id AS STRING) AS BINARY)) AS STRING)"
    table("latin", s"SELECT ${latin.replace("id", "id % 300")} AS s, id AS v FROM range(30000)")
    table("cities", s"SELECT $latin AS s, id AS g FROM range(300)")
    table(
      "narrow",
      "SELECT CAST(id + 0.25 AS DECIMAL(7,2)) AS d, id AS v FROM range(0, 30000, 1, 1)",
      groupRows = Some(3000)
    )
    spark.read
      .schema("d DECIMAL(20,2), v BIGINT")
      .parquet(folder.resolve("narrow").toString)
      .createOrReplaceTempView("widened")
    table(
      "wide",
      """SELECT CAST(id + 3900.25 AS DECIMAL(20,2)) AS d, id AS g FROM range(2000)
        |UNION ALL SELECT CAST(42949673.00 AS DECIMAL(20,2)), -1""".stripMargin
    )
    conf("spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MILLIS") {
      table(
        "millis",
        "SELECT timestamp_seconds(id DIV 3000) AS t, id AS v FROM range(0, 30000, 1, 1)",
        groupRows = Some(3000)
      )
    }
    table("instant", "SELECT timestamp_micros(id + 5000400) AS t FROM range(1)")
    spark.sql("CREATE TABLE spelled (v BIGINT, p INT) USING parquet PARTITIONED BY (p)")
    spark.sql("INSERT INTO spelled SELECT id, CAST(id % 20 AS INT) FROM range(30000)")
    val day = "date_add(DATE'1582-09-01', CAST(id AS INT))"
    table("days", s"SELECT $day AS d, id AS v FROM range(0, 1200, 1, 1)", groupRows = Some(3))
    table("feasts", s"SELECT $day AS d, id AS g FROM range(1200)")
    table("few", "SELECT CAST(id AS INT) AS id, id AS g FROM range(20)")
  }

  override protected def afterAll(): Unit = {
    spark.sql("DROP TABLE spelled")
    super.afterAll()
  }

  for ((what, count) <- Seq("a few" -> 8, "some" -> 14, "many" -> 100))
    // A Latin-1 string was once pushed to Parquet's reader, which looked for another string and skipped
    // matching rows.
    test(s"strings that are no UTF-8 are not pushed, as Parquet would be asked for others: $what") {
      val df =
        same(s"SELECT /*+ SHUFFLE_HASH(c) */ l.v, g FROM latin l JOIN cities c ON l.s = c.s WHERE g < $count")
      assert(df.count() == count * 100)
      assert(used(df).flatMap(_.kinds) == Seq("bloom"))
    }

  test("a bound that is no UTF-8 is not pushed either") {
    same("SELECT count(*) FROM latin l LEFT SEMI JOIN (SELECT max(s) AS s FROM cities) c ON l.s <= c.s")
  }

  // Spark's Parquet filters once cut a decimal bound down to the digits of an older, narrower file, and row
  // groups with matches were skipped.
  test("decimals that are narrower in the files are not pushed: beyond their digits others are asked for") {
    assume(SparkFeatures.readsWiderDecimals)
    val df =
      same("SELECT /*+ SHUFFLE_HASH(w) */ f.v, g FROM widened f JOIN wide w ON f.d = w.d WHERE g < 1500")
    assert(used(df).nonEmpty)
    // Of the same type in the files they are.
    val exact = same(
      """SELECT /*+ SHUFFLE_HASH(w) */ f.v, g FROM narrow f
        |JOIN (SELECT CAST(d AS DECIMAL(7,2)) AS d, g FROM wide WHERE g BETWEEN 0 AND 1500) w ON f.d = w.d""".stripMargin
    )
    assert(removed(exact) == 27000, record(exact).filters.all.map(_.reason.text))
  }

  // Such a bound once skipped the rows of that millisecond in files that keep milliseconds.
  test("a bound of a part of a millisecond leaves rows of that millisecond") {
    for (op <- Seq("<", "<=")) {
      val df = same(s"SELECT /*+ BROADCAST(b) */ sum(v) FROM millis m JOIN instant b ON m.t $op b.t")
      assert(removed(df) == 12000, record(df).filters.all.map(_.reason.text))
    }
  }

  for (
    on <- Seq(
      "p IN (SELECT id FROM few WHERE g < 3)",
      "P IN (SELECT id FROM few WHERE g < 3)",
      "EXISTS (SELECT * FROM few WHERE id = P AND g < 3)"
    )
  )
    // The catalog was once asked for the query's spelling, and failed the query or pruned nothing. Keys also
    // once went to the Hive metastore, which fails on long lists and some strings, and compares strings by a
    // collation of its own.
    test(s"a partition column that the query spells otherwise: $on") {
      // Of Spark's own dynamic pruning there is none, so that the catalog is asked for partitions when the scan starts.
      conf("spark.sql.optimizer.dynamicPartitionPruning.enabled" -> "false") {
        val df = same(s"SELECT sum(v) FROM spelled WHERE $on")
        assert(removed(df) == 25500, record(df).filters.all.map(_.reason.text))
        // In a form that no metastore is asked for: it fails on some literals, and on long lists.
        val pushed = collectWithSubqueries(executed(df)) {
          case s: FileSourceScanExec if s.partitionFilters.nonEmpty => s.partitionFilters
        }.flatten
        assert(pushed.exists {
          case EqualNullSafe(_, Literal.TrueLiteral) => true
          case _ => false
        })
      }
    }

  // A day before the Gregorian calendar was once pushed to Parquet as another day, and row groups with
  // matches were skipped.
  test("days that Java's old calendar leaves out are not pushed as others", Slow) {
    // Spark pushes a literal of such a day, so they are chosen by another column.
    for (which <- Seq("g = 36", "g BETWEEN 36 AND 66")) {
      val sql =
        s"SELECT /*+ SHUFFLE_HASH(k) */ sum(v), count(*) FROM days y JOIN (SELECT d FROM feasts WHERE $which) k ON y.d = k.d"
      assert(same(sql).collect().head.getLong(1) > 0)
      same(sql.replace("SHUFFLE_HASH", "BROADCAST"))
    }
  }

  // The statistics of two columns were once asked for together. For some names all filters on Delta tables
  // were lost.
  test("a column of any name can be asked for what else is known of it") {
    val group =
      RowGroup(10, Map("customer_id" -> ValueRange(0, 9), "store_id" -> ValueRange(0, 9)), Map.empty)
    for (column <- Seq("customer_id", "store_id")) {
      val t = TableFooters(20, 1, 1, Seq(group, group))
      assert(t.clustering(column).contains(0.0) && t.range(column).contains(ValueRange(0, 9)))
    }
  }
}

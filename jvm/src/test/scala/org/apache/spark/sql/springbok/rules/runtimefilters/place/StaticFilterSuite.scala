package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.springbok.{Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.catalyst.SparkPlanning
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.record.FilterState
import org.apache.spark.sql.springbok.report.SpringbokReport

/** Filters where adaptive execution is off. */
class StaticFilterSuite extends SpringbokTest {
  override protected def sessionConf: Map[String, String] =
    super.sessionConf + ("spark.sql.adaptive.enabled" -> "false")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table(
      "fact",
      "SELECT id AS k, CAST(id AS INT) AS i, CAST(id / 400 AS TINYINT) AS b, date_add(DATE'2000-01-01', CAST(id / 100 AS INT)) AS day, " +
        "timestamp_seconds(id * 60) AS ts, id % 50 AS g, CAST(id AS STRING) AS s FROM range(40000)",
      groupRows = Some(1000)
    )
    table(
      "dim",
      "SELECT id + 20000 AS k, CAST(id + 200 AS INT) AS i, date_add(DATE'2000-07-01', CAST(id AS INT)) AS day, " +
        "timestamp_seconds((id + 500) * 60) AS ts, CAST(id % 5 + 20 AS TINYINT) AS b, id % 20 AS g, CAST(id AS STRING) AS s " +
        "FROM range(100)"
    )
  }

  private def pruned(sql: String, atMost: Long): DataFrame = {
    assume(SparkPlanning.scansPushSubqueries)
    val df = same(sql)
    val filters = record(df).filters.filter(_.number.nonEmpty)
    assert(
      filters.forall(_.state.isInstanceOf[FilterState.Used]) && filters.flatMap(_.kinds).toSet == Set(
        "minmax"
      ),
      record(df).filters.map(f => s"${f.id} ${f.targetTable} ${f.state} ${f.reason.text}")
    )
    assert(scanRows(df, "g") <= atMost, s"${scanRows(df, "g")} rows: ${executed(df)}")
    df
  }

  private def broadcasts(df: DataFrame): Int =
    collectWithSubqueries(executed(df)) { case b: BroadcastExchangeExec => b }.distinct.size

  // Spark writes timestamps as INT96, which have no statistics.
  for ((key, atMost) <- Seq("k", "i", "b", "day").map(_ -> 4100L) :+ ("ts" -> 40000L))
    test(s"the range of a broadcast's keys, which are made once: $key") {
      val df = pruned(
        s"SELECT /*+ BROADCAST(d) */ count(*), sum(f.g) FROM fact f JOIN dim d ON f.$key = d.$key WHERE d.i < 220",
        atMost
      )
      assert(broadcasts(df) == 1)
    }

  test("through other joins; not below an exchange, which may be read twice, nor in an outer join", Smoke) {
    pruned(
      "SELECT /*+ BROADCAST(d, e) */ count(*), sum(f.g) FROM fact f JOIN dim d ON f.k = d.k JOIN (SELECT k FROM dim) e " +
        "ON f.k = e.k",
      4200
    )
    val sums = "(SELECT k, i, count(*) AS n, max(g) FROM fact GROUP BY k, i)"
    val below = same(s"SELECT /*+ BROADCAST(d) */ count(*), sum(n) FROM $sums f JOIN dim d ON f.k = d.k")
    assert(applied(below).isEmpty && declined(below) == Seq("ADAPTIVE_EXECUTION_OFF"))
    val outer = same("SELECT /*+ BROADCAST(d) */ count(*), sum(f.g) FROM fact f LEFT JOIN dim d ON f.k = d.k")
    assert(applied(outer).isEmpty && declined(outer) == Seq("JOIN_TYPE_UNSUPPORTED"))
  }

  test("a build side without keys, or with keys that the column cannot hold") {
    pruned(
      "SELECT /*+ BROADCAST(d) */ count(*), sum(f.g) FROM fact f JOIN dim d ON f.k = d.k WHERE d.i < 0",
      0
    )
    pruned(
      "SELECT /*+ BROADCAST(d) */ count(*), sum(f.g) FROM fact f JOIN (SELECT k * 100000 AS k FROM dim) d ON f.i = d.k",
      0
    )
    pruned(
      "SELECT /*+ BROADCAST(d) */ count(*), sum(f.g) FROM fact f JOIN (SELECT k * -100000 AS k FROM dim) d ON f.i = d.k",
      0
    )
  }

  // The end of an unknown range of days or instants once overflowed in Spark, and the query failed.
  test("too many keys to look at bound nothing") {
    assume(SparkPlanning.scansPushSubqueries)
    conf(FilterConf.MAX_KEYS.key -> "10") {
      for (key <- Seq("k", "i", "day", "ts")) {
        val df =
          same(
            s"SELECT /*+ BROADCAST(d), RUNTIME_FILTER_TARGET(f) */ count(*), sum(f.g) FROM fact f JOIN dim d ON f.$key = d.$key"
          )
        assert(declined(df).contains("TOO_MANY_KEYS") && scanRows(df, "g") >= 40000, key)
      }
    }
  }

  test("strings, shuffled joins and switches say why not") {
    val on = (key: String) => s"SELECT /*+ BROADCAST(d) */ count(*) FROM fact f JOIN dim d ON f.$key = d.$key"
    assert(declined(same(on("s"))) == Seq("ADAPTIVE_EXECUTION_OFF"))
    assert(declined(same(on("k").replace("BROADCAST", "MERGE"))) == Seq("ADAPTIVE_EXECUTION_OFF"))
    conf(FilterConf.TYPES.key -> "IN,BLOOM")(
      assert(declined(same(on("k"))) == Seq("ADAPTIVE_EXECUTION_OFF"))
    )
    conf(FilterConf.MODE.key -> "OFF")(assert(declined(same(on("k"))) == Seq("MODE")))
  }

  test("EXPLAIN and the report show it") {
    val df = pruned("SELECT /*+ BROADCAST(d) */ count(*), sum(f.g) FROM fact f JOIN dim d ON f.k = d.k", 4100)
    val plan = executed(df).toString
    assert(plan.contains("RuntimeFilter RF000[minmax] -> k") && plan.contains("SmallestKey"), plan)
    assert(SpringbokReport.json(execution(df)).contains("\"minmax\""))
  }
}

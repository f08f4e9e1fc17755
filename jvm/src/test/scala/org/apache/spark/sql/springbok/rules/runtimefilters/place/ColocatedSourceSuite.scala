package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.springbok.{Slow, Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.conf.FilterConf

/**
 * A build side that is computed in its join's own stage, as it is partitioned by the key already: filters are read from
 * an exchange below it. Answers as without Springbok, and which filter was used, or why none.
 */
class ColocatedSourceSuite extends SpringbokTest {
  override protected def sessionConf: Map[String, String] =
    super.sessionConf ++ shuffled + (FilterConf.WAIT.key -> "ALWAYS")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    // Keys 0 to 49 of 2,000 are asked for; rows without a key, keys that are there several times.
    table("small", "SELECT IF(id = 51, NULL, id % 50) AS k, id AS v, id % 7 AS w FROM range(0, 52, 1, 1)")
    for ((t, n) <- Seq("mid" -> 4000, "big" -> 60000, "other" -> 30000))
      table(
        t,
        s"SELECT IF(id % 97 = 0, NULL, id % 2000) AS k, CAST(id % 2000 AS DOUBLE) AS d, id AS v, id % 7 AS w FROM range(0, $n, 1, 1)"
      )
    table("many", "SELECT id % 300 AS k, id AS v FROM range(0, 6000, 1, 1)", groupRows = Some(500))
    table("texts", "SELECT id AS k, IF(id < 50, CAST(id % 7 AS STRING), 'x') AS text FROM range(4000)")
    // Twice as many keys as the others: half of them have no match.
    table(
      "wide",
      "SELECT id AS k, CAST(IF(id = 0, -0.0D, id) AS DOUBLE) AS d, id AS v FROM range(0, 4000, 1, 1)"
    )
  }

  private def chain(second: String): String =
    s"SELECT count(*), sum(s.v) FROM small s JOIN mid m ON s.k = m.k $second"

  for (
    (name, second) <- Seq(
      "inner" -> "JOIN big b ON m.k = b.k",
      "semi" -> "LEFT SEMI JOIN big b ON s.k = b.k",
      "anti" -> "LEFT ANTI JOIN big b ON s.k = b.k AND m.w = b.w",
      "left outer" -> "LEFT JOIN big b ON m.k = b.k AND b.w > m.w"
    )
  )
    test(s"$name join on the key of a join below: its probe side is filtered by that join's build side") {
      val df = same(chain(second))
      val tables = used(df).map(_.targetTable.get)
      assert(tables.contains("big") && tables.contains("mid"), record(df).filters.all.map(_.reason.text))
      val onBig = applied(df).filter(_.filter.record.targetTable.contains("big"))
      assert(onBig.map(_.metrics("numOutputRows").value).sum <= 1600)
    }

  // Its summary once computed the key for each row of the build side, and failed the query.
  test("a key that raises an error for a row that the join never compares") {
    val places = spark.range(20).selectExpr("id", "pmod(hash(CAST(id AS INT)), 8)").collect().toSeq
    val Seq(here, there) = places.distinctBy(_.get(1)).take(2).map(_.getLong(0)): @unchecked
    table("lefts", s"SELECT $here AS a, 6 AS c")
    table("rights", s"SELECT * FROM VALUES ($here, 5), ($there, 2147483647) AS t(a, b)")
    def side(t: String) = s"(SELECT /*+ REPARTITION(8, a) */ * FROM $t)"
    conf("spark.sql.ansi.enabled" -> "true", "spark.sql.requireAllClusterKeysForCoPartition" -> "false") {
      val sql =
        s"SELECT /*+ MERGE(x, y), RUNTIME_FILTER(y) */ x.c, y.b FROM ${side("lefts")} x JOIN ${side("rights")} y"
      assert(same(s"$sql ON x.a = y.a AND x.c = y.b + 1").count() == 1)
      // A key that raises none is summarized.
      assert(used(same(s"$sql ON x.a = y.a AND x.c = y.b")).nonEmpty)
    }
  }

  test("three joins on one key are filtered from one exchange, which runs once") {
    val sql = chain("JOIN big b ON m.k = b.k LEFT ANTI JOIN other o ON b.k = o.k AND o.w = m.w + s.w")
    val df = same(sql)
    assert(used(df).map(_.targetTable.get).toSet == Set("mid", "big", "other"))
    val without = off(spark.sql(sql))
    off(without.collect()): Unit
    def exchanges(df: DataFrame) = collect(executed(df)) { case e: Exchange => e }.size
    assert(exchanges(df) == exchanges(without))
  }

  test("the side that may lose rows is never the outer join's preserved one") {
    for (join <- Seq("RIGHT JOIN", "FULL JOIN")) {
      val df = same(chain(s"$join big b ON m.k = b.k"))
      assert(!used(df).exists(_.targetTable.contains("big")), join)
    }
  }

  test("nulls that an outer join below makes up are no keys of the exchange") {
    // Rows of `wide` without a match have a null key of `small`; it finds no equal one, but a null-safe one does.
    val left = "SELECT w.k AS wk, s.k AS sk, s.v FROM wide w LEFT JOIN small s ON w.k = s.k"
    same(s"SELECT count(*), sum(l.v) FROM ($left) l JOIN big b ON l.sk = b.k")
    same(s"SELECT count(*), sum(l.v), sum(b.v) FROM ($left) l JOIN big b ON l.sk <=> b.k")
  }

  // A filter once read an exchange in the middle of an aggregate. Adaptive execution put a copy of that stage
  // in place of the whole aggregate, and partial groups were the answer.
  test("below an aggregate or a window's limit there is no source, whichever side it is on", Slow) {
    // Several tasks have groups of the same key: an aggregate that got lost would show.
    conf("spark.sql.files.maxPartitionBytes" -> "4000", FilterConf.SEPARATE.key -> "false") {
      val groups = "SELECT k, count(*) AS n FROM many GROUP BY k"
      val hint = "/*+ RUNTIME_FILTER_TARGET(b) */"
      for (on <- Seq("b.k = g.k", "b.k = g.k AND b.v > 5")) {
        val right = same(
          s"SELECT $hint count(*), sum(b.v) FROM big b RIGHT JOIN (SELECT k FROM many GROUP BY k) g ON $on"
        )
        val counted = same(s"SELECT $hint sum(g.n), sum(b.v) FROM big b RIGHT JOIN ($groups) g ON $on")
        val left = same(s"SELECT $hint sum(g.n), sum(b.v) FROM ($groups) g JOIN big b ON $on")
        assert(Seq(right, counted, left).forall(!used(_).exists(_.targetTable.contains("big"))), on)
      }
      val first =
        "SELECT k, v FROM (SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v) AS r FROM many) WHERE r = 1"
      same(s"SELECT $hint count(*), sum(b.v) FROM big b RIGHT JOIN ($first) g ON b.k = g.k")
    }
  }

  // Planning time once doubled with each join of a chain on one key.
  test("a long chain of joins on one key is planned in time that does not double with each") {
    val chain = (1 to 24).map(i => s"JOIN wide w$i ON w0.k = w$i.k").mkString(" ")
    same(s"SELECT count(*), sum(w24.v) FROM wide w0 $chain WHERE w0.v < 40")
  }

  test("a table joined with itself: the exchange that both read has the summary, whichever runs") {
    val df = same("SELECT count(*), sum(b.v) FROM small x JOIN small y ON x.k = y.k JOIN big b ON y.k = b.k")
    assert(used(df).exists(_.targetTable.contains("big")), record(df).filters.all.map(_.reason.text))
  }

  // Only copies in the creation side once had the summary, and Spark ran the one outside, which is further left.
  test("a WITH table that two joins shuffle by one key: its exchange has the summary, whichever runs") {
    val df = same(
      "WITH d AS (SELECT k, v % 3 AS g FROM wide WHERE v < 40) SELECT count(*), sum(y.v) FROM " +
        "(SELECT m.w, d.g FROM mid m LEFT JOIN d ON m.k = d.k) x JOIN " +
        "(SELECT b.w, b.v FROM big b JOIN d ON b.k = d.k) y ON x.w = y.w"
    )
    assert(
      used(df).exists(_.targetTable.contains("big")),
      record(df).filters.all.map(f => f.targetTable -> f.reason)
    )
  }

  // A filter on a projection of a cached table once computed its key for rows that a join below drops.
  test("a key that a projection of a cached table computes is not computed early if it may raise an error") {
    spark.sql("CACHE TABLE numbers AS SELECT id, IF(id < 3000, 1, 2) AS g FROM range(0, 40000, 1, 1)"): Unit
    def query(key: String) =
      s"SELECT count(*) FROM (SELECT g, $key AS x FROM numbers) c JOIN (SELECT 1 AS g) d ON c.g = d.g " +
        "JOIN small s ON c.x = s.k"
    conf("spark.sql.ansi.enabled" -> "true", "spark.sql.autoBroadcastJoinThreshold" -> "1000") {
      val raises = same(query("CAST(id * 100000 AS INT)"))
      assert(!used(raises).exists(_.targetTable.exists(_.contains("numbers"))))
      same(query("id")): Unit
    }
    spark.sql("UNCACHE TABLE numbers"): Unit
  }

  // A row takes the nearest one of the other side. A filter once removed it, and the next one was taken.
  test("nothing is filtered below an as-of join but what is left of it", Smoke) {
    assume(SPARK_VERSION >= "4.3")
    table("trades", "SELECT id AS sym, 10L AS ts FROM range(200)")
    table(
      "quotes",
      "SELECT id % 200 AS sym, IF(id < 200, 9L, 5L) AS ts, IF(id < 200, 'X', 'Y') AS venue FROM range(400)"
    )
    table("venues", "SELECT * FROM VALUES ('X', 'US'), ('Y', 'EU') AS t(venue, region)")
    conf("spark.sql.join.asofJoin.enabled" -> "true") {
      val df = same(
        "SELECT t.sym, q.ts FROM trades t ASOF JOIN quotes q MATCH_CONDITION (t.ts >= q.ts) ON t.sym = q.sym " +
          "JOIN venues v ON q.venue = v.venue WHERE v.region = 'EU'"
      )
      assert(df.isEmpty && !used(df).exists(_.targetTable.contains("quotes")))
    }
  }

  test("a key that may raise an error is not computed for rows that a join below drops") {
    val (left, right) = (
      "SELECT t.k, t.text FROM texts t JOIN small s ON t.k = s.k",
      "SELECT m.k, o.w FROM mid m JOIN other o ON m.k = o.k"
    )
    same(s"SELECT count(*) FROM ($left) l JOIN ($right) r ON l.k = r.k AND CAST(l.text AS INT) = r.w")
  }

  test("rows of a union come from several exchanges, of which none has all keys") {
    val both = "SELECT k, count(*) AS n FROM small GROUP BY k"
    val more = "SELECT k + 1000 AS k, n FROM (SELECT k, count(*) AS n FROM small GROUP BY k)"
    same(s"SELECT sum(b.v), sum(u.n) FROM ($both UNION ALL $more) u JOIN big b ON u.k = b.k")
  }

  test("keys that are equal though not identical: -0.0, and several at once") {
    same(
      "SELECT count(*), sum(b.v) FROM wide w JOIN mid m ON w.d = m.d JOIN big b ON m.d = b.d WHERE w.v < 40"
    )
    val two = "s.k = b.k AND m.w = b.w"
    val df =
      same(s"SELECT count(*), sum(b.v) FROM small s JOIN mid m ON s.k = m.k AND s.w = m.w JOIN big b ON $two")
    assert(used(df).exists(_.targetTable.contains("big")), record(df).filters.all.map(_.reason.text))
  }

  test("elements of arrays and coalesced rows are the same each time, so they are a source") {
    for (
      side <- Seq("SELECT explode(array(k, k + 5)) AS k FROM small", "SELECT /*+ COALESCE(1) */ k FROM small")
    ) {
      val df =
        same(s"SELECT count(*), sum(b.v) FROM (SELECT k FROM ($side) WHERE k < 30) s JOIN big b ON s.k = b.k")
      assert(used(df).exists(_.targetTable.contains("big")), record(df).filters.all.map(_.reason.text))
    }
  }

  test("what depends on the order of rows is no source") {
    val sql =
      """SELECT count(*), sum(b.v) FROM (SELECT k, v FROM small ORDER BY v LIMIT 20) s
        |JOIN mid m ON s.k = m.k JOIN big b ON m.k = b.k""".stripMargin
    val df = same(sql)
    assert(
      !used(df).exists(f =>
        f.targetTable.contains("big") && f.sourceKey == "k" && f.state.found.rows.contains(20L)
      )
    )
  }

  test("the exchange keeps one summary for the joins that read different keys of it") {
    val df = same(
      """SELECT count(*), sum(b.v) FROM small s JOIN mid m ON s.k = m.k AND s.w = m.w
        |JOIN big b ON s.k = b.k AND s.w = b.w AND s.v < b.v""".stripMargin
    )
    assert(
      used(df).map(_.targetTable.get).toSet == Set("mid", "big"),
      record(df).filters.all.map(_.reason.text)
    )
  }
}

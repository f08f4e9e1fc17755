package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.{Slow, SpringbokTest}
import org.apache.spark.sql.springbok.conf.{ClusterConf, FilterConf, JoinConf, StatsConf}
import org.apache.spark.sql.springbok.cost.Distribution
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.JoinDecision
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/** Build sides that are larger than they look, or come later: what only seems to fit is not held in memory. */
class MisjudgedSizeSuite extends SpringbokTest {
  private val smallHeap = ClusterConf.EXECUTOR_MEMORY.key -> "40m"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("facts", "SELECT id % 50000 AS k, id % 97 AS v FROM range(400000)")
    // One row of 1970 makes the last month look like nothing; it is all but one row.
    val events =
      "SELECT id AS k, if(id = 7, DATE'1970-01-01', date_sub(DATE'2026-06-30', cast(id % 30 AS INT))) AS day, " +
        "id % 3 AS s, concat('some text to make the row wide ', id) AS t FROM range(200000)"
    table("events", events)
    table("sorted", s"$events SORT BY day", groupRows = Some(2000))
    table("few", "SELECT id AS k, id % 5 AS g FROM range(200)")
    table("vectors", "SELECT id AS k, sequence(id, id + 500) AS a FROM range(2000)")
    // All but some rows are of one key, and compress to nothing.
    table(
      "skewed",
      "SELECT if(id % 20 > 0, 3, id) AS k, repeat('all of it the same ', 40) AS t FROM range(40000)"
    )
  }

  private def planned(sql: String): JoinDecision = record(same(sql)).joins.head.planned.get
  private def decision(sql: String): JoinDecision = record(same(sql)).joins.head.latest.get

  /** What strategies are ruled out for before anything has run. */
  private def ruledOut(sql: String): Set[String] = codes(planned(sql))

  private def codes(d: JoinDecision): Set[String] =
    d.choice.alternatives.flatMap(_.ruledOut).map(_.reason.code).toSet

  // The bound of a filter's rows once assumed that values are spread evenly over their range. One row of 1970
  // made a table's last month look empty, and nearly the whole table was broadcast.
  test("a date of 1970 does not have a whole table broadcast as if it were a month's part of it") {
    def sql(t: String) =
      s"SELECT count(*), max(e.t) FROM facts f JOIN $t e ON f.k = e.k WHERE e.day >= DATE'2026-06-01'"
    val even = Seq(smallHeap, StatsConf.DICTIONARIES_ENABLED.key -> "false")
    conf(even: _*)(assert(ruledOut(sql("events"))("BUILD_SIDE_MAY_BE_TOO_BIG")))
    // Rows that are sampled say that it is nearly the whole table.
    conf(smallHeap)(assert(ruledOut(sql("events"))("BUILD_SIDE_TOO_BIG_FOR_HEAP")))
    // Where row groups say how many rows there are at most, that counts.
    conf(smallHeap) {
      val few = sql("sorted").replace(">= DATE'2026-06-01'", "< DATE'2026-06-02'")
      assert(!ruledOut(few)("BUILD_SIDE_MAY_BE_TOO_BIG"))
    }
    // Nor where there is room for all of it.
    assert(joins(same(sql("events"))).head.isInstanceOf[BroadcastHashJoinExec])
  }

  // Also once wrong by the assumption that values are spread evenly.
  test("one of three values may be nearly all of them") {
    conf(smallHeap) {
      assert(
        ruledOut("SELECT count(*), max(e.t) FROM facts f JOIN events e ON f.k = e.k WHERE e.s = 1")(
          "BUILD_SIDE_TOO_BIG_FOR_HEAP"
        )
      )
      // Of a key that is surely unique there is one row.
      val one = "SELECT count(*), max(e.t) FROM facts f JOIN events e ON f.k = e.k WHERE e.k = 1"
      assert(!ruledOut(one)("BUILD_SIDE_MAY_BE_TOO_BIG"))
    }
  }

  // Rows that only the catalog's own bytes confirm once counted as a bound.
  test(
    "analyzed rows of a table whose files are not listed are no bound: only the catalog's own bytes confirm them"
  ) {
    def rulesOut(name: String): Boolean = {
      spark.sql(
        s"CREATE TABLE $name USING csv PARTITIONED BY (p) AS SELECT id AS k, id % 2 AS g, id % 3 AS p FROM range(300)"
      ): Unit
      spark.sql(s"ANALYZE TABLE $name COMPUTE STATISTICS"): Unit
      ruledOut(s"SELECT count(*), max(f.v) FROM facts f JOIN $name a ON f.k = a.k")(
        "BUILD_SIDE_MAY_BE_TOO_BIG"
      )
    }
    conf(StatsConf.FOOTERS_MAX_PARTITIONS.key -> "2")(assert(rulesOut("unlisted")))
    assert(!rulesOut("listed"))
    for (name <- Seq("unlisted", "listed")) spark.sql(s"DROP TABLE $name"): Unit
  }

  // Arrays, maps and structs once counted as one element a row, so a side of gigabytes looked like megabytes.
  test("arrays are as wide as their elements", Slow) {
    val sql = "SELECT count(*), max(size(v.a)) FROM facts f JOIN vectors v ON f.k = v.k"
    val side = decision("SELECT f.k, v.a FROM facts f JOIN vectors v ON f.k = v.k").input.get.right
    assert(side.rowBytes > 500 * 8 && side.rowBytes < 500 * 20)
    same(sql): Unit
  }

  // A cached table was once as wide as its types, so a side of gigabytes looked like megabytes.
  test("a cached table is as wide as its buffers say") {
    spark.sql(
      "CACHE TABLE wide AS SELECT id AS k, repeat(sha2(cast(id AS STRING), 256), 50) AS t FROM range(500)"
    ): Unit
    val side = decision("SELECT f.v, w.t FROM facts f JOIN wide w ON f.k = w.k").input.get.right
    assert(side.rowBytes > 1000)
    spark.sql("UNCACHE TABLE wide"): Unit
  }

  // 400,000 rows of `rpad(c, 4000, ' ')` were once broadcast as if they took a few bytes, and filled the driver's heap.
  test("what nothing bounds is shuffled first, and broadcast if its bytes turn out to be few", Slow) {
    def sql(x: String) =
      s"SELECT count(*), max(length(e.x)) FROM facts f JOIN (SELECT k, $x AS x FROM few) e ON f.k = e.k"
    conf("spark.sql.autoBroadcastJoinThreshold" -> "1k", JoinConf.BROADCAST_BYTES_LIMIT.key -> "200k") {
      val long = record(same(sql("rpad(cast(g AS STRING), 4000, ' ')"))).joins.head
      for (d <- Seq(long.planned, long.latest))
        assert(!d.get.choice.distribution.contains(Distribution.Broadcast), d)
      assert(codes(long.planned.get)("ROWS_MAY_BE_LONG") && codes(long.latest.get)("BUILD_SIDE_TOO_BIG"))
      val short = record(same(sql("rpad(cast(g AS STRING), 5, ' ')"))).joins.head
      assert(codes(short.planned.get)("ROWS_MAY_BE_LONG") && !codes(short.latest.get)("ROWS_MAY_BE_LONG"))
      val known = planned(sql("concat('g', cast(g AS STRING))"))
      assert(known.choice.distribution.contains(Distribution.Broadcast), known)
    }
    // Spark itself broadcasts a side that it takes for small.
    assert(!ruledOut(sql("rpad(cast(g AS STRING), 4000, ' ')"))("ROWS_MAY_BE_LONG"))
  }

  // Once its stage had finished, a cached table was as wide as its columns' own bytes: 1 for a BOOLEAN, which takes 8 in a row.
  // The bytes of the shuffle below the final aggregate once counted as those of what the aggregate computes.
  test("groups are as long as what is computed of them, not as what was shuffled for it") {
    val days = "SELECT k, sequence(min(v), min(v) + 3000) AS days FROM facts WHERE k < 2000 GROUP BY k"
    val sql = s"SELECT count(*), max(size(d.days)) FROM facts f JOIN ($days) d ON f.k = d.k"
    conf(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "10k", FilterConf.MODE.key -> "OFF") {
      val d = decision(sql.replace("max(size(d.days))", "max(d.days)"))
      assert(codes(d)("ROWS_MAY_BE_LONG"), d.choice)
    }
  }

  // Spark keeps the estimate of a cached table that another stage has asked for before the cache was filled.
  test("a table that the query caches is as large as its buffers, once they are there") {
    val wide = spark.range(3000).selectExpr("id AS k", "rpad(cast(id AS STRING), 4000, ' ') AS t").limit(3000)
    wide.cache().createOrReplaceTempView("filled_later")
    val m = spark.table("filled_later").queryExecution.optimizedPlan.collectLeaves().head
    val before = m.stats.sizeInBytes
    assert(spark.table("filled_later").count() == 3000)
    val bytes = new PlanStats().mostBytes(m)
    assert(bytes.exists(b => b > 3000 * 4000 && b > before.toDouble), (bytes, before))
    wide.unpersist(): Unit
  }

  test("a cached table of small columns is as wide as its rows in memory") {
    val flags = (1 to 40).map(i => s"id % $i = 0 AS b$i").mkString(", ")
    spark.sql(s"CACHE TABLE flags AS SELECT id AS k, $flags FROM range(2000)"): Unit
    val side = decision("SELECT f.v, w.* FROM facts f JOIN flags w ON f.k = w.k").input.get.right
    assert(side.rowBytes >= 41 * 8)
    spark.sql("UNCACHE TABLE flags"): Unit
  }

  // The table of a shuffled hash join was once taken for four times its compressed rows, although the rows
  // had been counted. Rows that compress well then did not fit the task.
  test("a hash table is not taken for smaller than the rows that were counted, as well as they compress") {
    val sql = "SELECT count(*), max(s.t), max(f.v) FROM facts f JOIN skewed s ON f.k = s.k"
    conf(
      ClusterConf.EXECUTOR_MEMORY.key -> "400m",
      JoinConf.SHUFFLED_HASH_MEMORY_FRACTION.key -> "0.1",
      JoinConf.BROADCAST_BYTES_LIMIT.key -> "0",
      FilterConf.MODE.key -> "OFF",
      noSparkBroadcast
    ) {
      val d = decision(sql)
      assert(d.input.get.right.layout.largestPartition.exists(_ > 20e6))
      assert(codes(d)("HASH_TABLE_TOO_BIG"))
    }
  }

  // Each of several joins by one key once built a hash table as large as one task may hold.
  test("the hash tables of joins by one key are counted together, as they are in one stage", Slow) {
    val part = "SELECT k, max(v) AS v FROM facts GROUP BY k"
    // The group by between them keeps the rows in place, and needs no order that a merge would give.
    val sql = "SELECT count(*), max(x.t), sum(x.v + b.v) FROM (SELECT e.k, max(e.t) AS t, max(a.v) AS v " +
      s"FROM events e JOIN ($part) a ON e.k = a.k GROUP BY e.k) x JOIN ($part) b ON x.k = b.k"
    def chosen(fraction: Double) = conf(
      ClusterConf.EXECUTOR_MEMORY.key -> "200m",
      JoinConf.SHUFFLED_HASH_MEMORY_FRACTION.key -> fraction.toString,
      FilterConf.MODE.key -> "OFF",
      noBroadcast,
      noSparkBroadcast
    )(record(same(sql)).joins.map(_.latest.get))
    // One of these leaves room for one table and not for two.
    val each = Seq(0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8).map(chosen)
    assert(
      each.exists(joins =>
        joins.map(_.choice.chosen).distinct.size == 2 && joins.exists(codes(_)("HASH_TABLE_TOO_BIG"))
      ),
      each.map(_.map(d => d.choice.chosen -> codes(d)))
    )
  }

  // A server once counted the broadcasts of each query alone, and those of ten users filled the driver's heap.
  test("the broadcasts of queries that run at the same time share the driver's heap") {
    val sql = "SELECT count(*), max(e.t), max(f.t) FROM events f JOIN events e ON f.k = e.k"
    val heap = Seq(
      ClusterConf.EXECUTOR_MEMORY.key -> "100m",
      JoinConf.BROADCAST_MEMORY_FRACTION.key -> "0.5",
      noSparkBroadcast
    )
    def decided(df: DataFrame) = {
      execution(df).executedPlan: Unit
      record(df).joins.head.planned.get
    }
    def running[T](df: DataFrame)(body: => T): T = SQLExecution.withNewExecutionId(execution(df))(body)
    conf(heap: _*) {
      val (first, second) = (spark.sql(sql), spark.sql(sql))
      running(first) {
        assert(decided(first).choice.distribution.contains(Distribution.Broadcast))
        running(second) {
          assert(codes(decided(second)).exists(Set("BUILD_SIDE_MAY_BE_TOO_BIG", "BROADCASTS_TAKE_THE_ROOM")))
        }
      }
      assert(decided(spark.sql(sql)).choice.distribution.contains(Distribution.Broadcast))
    }
  }

  // A join below `coalesce(1)` was once broadcast, and one task read the whole fact table.
  test("a join that is coalesced into few tasks stays as Spark plans it, unless a shuffle is in between") {
    def reason(sql: String, tasks: Int): Reason = {
      val df = spark.sql(sql).coalesce(tasks)
      df.collect(): Unit
      record(df).joins.head.latest.get.choice.reason
    }
    val join = "SELECT f.v, e.s FROM facts f JOIN few e ON f.k = e.k"
    assert(reason(join.replace("e.s", "e.g"), 1) == Reason.fewTasks)
    assert(reason(join.replace("e.s", "e.g"), 2) != Reason.fewTasks)
    assert(
      reason("SELECT e.g, count(*) FROM facts f JOIN few e ON f.k = e.k GROUP BY e.g", 1) != Reason.fewTasks
    )
  }

  // A small result of a long computation was once broadcast, and Spark gave up waiting for it.
  test("without adaptive execution nothing is broadcast that may take longer than Spark waits for it") {
    val sql =
      "SELECT count(*) FROM facts f JOIN (SELECT max(id) % 10 AS k FROM range(30000000)) g " +
        "ON f.k = g.k"
    conf("spark.sql.broadcastTimeout" -> "1", "spark.sql.adaptive.enabled" -> "false", noSparkBroadcast) {
      assert(ruledOut(sql)("BROADCAST_MAY_TIME_OUT"))
    }
    conf("spark.sql.broadcastTimeout" -> "1", noSparkBroadcast)(
      assert(!ruledOut(sql)("BROADCAST_MAY_TIME_OUT"))
    )
  }

  // A threshold of Spark's that is larger than Springbok's default limit was once ignored.
  test("Spark's thresholds stand in for a limit that is not set") {
    val key = JoinConf.BROADCAST_BYTES_LIMIT.key
    conf(key -> spark.conf.get(key)) {
      spark.conf.unset(key)
      def limit(measured: Boolean)(settings: (String, String)*): Long =
        conf(settings: _*)(JoinConf.broadcastBytes(SQLConf.get, measured))
      val (auto, adaptive) =
        (SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key, SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD.key)
      assert(limit(measured = false)() == (256L << 20))
      assert(limit(measured = false)(auto -> "1g") == (1L << 30))
      assert(limit(measured = false)(auto -> "-1", adaptive -> "30m") == 0)
      assert(limit(measured = true)(auto -> "-1", adaptive -> "30m") == (30L << 20))
      assert(limit(measured = true)(auto -> "-1") == 0)
      // Spark broadcasts nothing up to 0 bytes either.
      assert(limit(measured = false)(auto -> "0") == 0 && limit(measured = true)(adaptive -> "0") == 0)
      assert(limit(measured = false)(auto -> "-1", key -> "5m") == (5L << 20))
      // -1 once meant no limit, where Spark's own threshold means no broadcast.
      for (off <- Seq("0", "-1")) assert(limit(measured = true)(key -> off) == 0)
      assert(limit(measured = false)(key -> "Unlimited") == Long.MaxValue)
      val wrong = intercept[IllegalArgumentException](spark.conf.set(key, "-2"))
      assert(wrong.getMessage.contains("a number of bytes, -1 or unlimited"), wrong)
    }
  }
}

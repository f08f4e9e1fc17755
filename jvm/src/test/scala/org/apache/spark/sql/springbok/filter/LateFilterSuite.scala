package org.apache.spark.sql.springbok.filter

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.springbok.{SpringbokConf, SpringbokTest}
import org.scalatest.concurrent.Eventually._
import org.scalatest.time.SpanSugar._

/** Filters that arrive while their scan runs. */
class LateFilterSuite extends SpringbokTest {
  private val never = SpringbokConf.FILTER_WAIT.key -> "NEVER"
  private val rows = LateFilterSuite.rows

  override protected def sessionConf: Map[String, String] =
    super.sessionConf + ("spark.sql.autoBroadcastJoinThreshold" -> "-1")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    val name = "CASE WHEN id % 3 > 0 THEN concat('k', id % 1000) END"
    table(
      "fact",
      s"SELECT id AS v, id % 1000 AS k, $name AS name, CAST(id % 1000 AS DOUBLE) AS d FROM range($rows)"
    )
    table(
      "mid",
      "SELECT id AS k, concat('k', id) AS name, CAST(id AS DOUBLE) AS d, id % 50 AS g FROM range(1000)"
    )
    spark.udf.register("gate", (v: Long) => LateFilterSuite.gate(v)): Unit
  }

  override protected def afterEach(): Unit = {
    eventually(timeout(10.seconds))(assert(LateArrivals.expected == 0))
    super.afterEach()
  }

  /** Half of the fact's rows are read before the filter is there, the others after it. */
  private val gated = "(SELECT * FROM fact WHERE gate(v)) f"

  private def in(df: DataFrame) = applied(df).map(_.child.metrics("numOutputRows").value)
  private def out(df: DataFrame) = applied(df).map(_.metrics("numOutputRows").value)

  private def late(sql: String): DataFrame = {
    val df = same(sql)
    val kinds = used(df).map(_.kinds)
    assert(kinds.nonEmpty && kinds.forall(_ == Seq("late", "bloom")), record(df).filters.map(_.outcome))
    df
  }

  /** The filter is there before the second half of the rows at the latest. */
  private def halved(df: DataFrame) =
    assert(in(df).sum > rows / 2 && out(df).sum < rows / 2 + 3000, s"${in(df)}, ${out(df)}")

  for (
    strategy <- Seq("MERGE", "SHUFFLE_HASH");
    (what, join) <- Seq(
      "an inner join, probe side first" -> s"$gated JOIN mid m ON f.k = m.k WHERE g = 7",
      "an inner join, build side first" -> s"mid m JOIN $gated ON f.k = m.k WHERE g = 7",
      "a semi join" -> s"$gated LEFT SEMI JOIN (SELECT * FROM mid WHERE g = 7) m ON f.k = m.k",
      "an outer join" -> s"$gated RIGHT JOIN (SELECT * FROM mid WHERE g = 7) m ON f.k = m.k",
      "strings and nulls" -> s"$gated JOIN mid m ON f.name = m.name WHERE g = 7",
      "doubles" -> s"$gated JOIN mid m ON f.d = m.d WHERE g = 7"
    )
  )
    test(s"$strategy: $what") {
      conf(never)(halved(late(s"SELECT /*+ $strategy(f, m) */ count(*), sum(f.v) FROM $join")))
    }

  test("a build side without keys") {
    val join = s"$gated RIGHT JOIN (SELECT nullif(k, k) AS k FROM mid WHERE g = 7) m ON f.k = m.k"
    // Adaptive execution leaves out a side that came out empty.
    conf(never)(late(s"SELECT /*+ MERGE(f, m) */ count(*), sum(f.v) FROM $join"): Unit)
  }

  test("row by row, without generated code") {
    conf(never, "spark.sql.codegen.wholeStage" -> "false") {
      halved(
        late(s"SELECT /*+ MERGE(m) */ count(*), sum(f.v) FROM $gated JOIN mid m ON f.k = m.k WHERE g = 7")
      )
    }
  }

  test("from a broadcast, to a scan below an aggregate's exchange") {
    val sums = s"(SELECT k, sum(v) AS s FROM $gated GROUP BY k) a"
    conf(never)(
      halved(
        late(s"SELECT /*+ BROADCAST(m) */ count(*), sum(s) FROM $sums JOIN mid m ON a.k = m.k WHERE g = 7")
      )
    )
  }

  private val plain =
    "SELECT /*+ MERGE(m) */ count(*), sum(f.v) FROM fact f JOIN mid m ON f.k = m.k WHERE g = 7"

  test("a task may wait for a while") {
    conf(never, SpringbokConf.FILTER_WAIT_TIME.key -> "60000")(assert(out(late(plain)) == Seq(rows / 50)))
  }

  test("a scan whose rows are dealt out in turn gets none") {
    conf(never) {
      val df = same(
        "SELECT /*+ MERGE(m) */ count(*) FROM (SELECT /*+ REPARTITION(3) */ * FROM fact) f JOIN mid m ON f.k = m.k " +
          "WHERE g = 7"
      )
      assert(used(df).isEmpty && declined(df).contains("NO_WAITING"), record(df).filters.map(_.outcome))
    }
  }

  test("a scan waits for a build side that keeps the cluster busy, not for one that leaves it idle") {
    val sql =
      "SELECT /*+ MERGE(m) */ count(*) FROM fact f JOIN (SELECT k, max(v % 50) AS g FROM fact GROUP BY k) m " +
        "ON f.v = m.g"
    val df = same(sql)
    assert(used(df).nonEmpty && used(df).forall(_.late.isEmpty))
    conf(SpringbokConf.CLUSTER_EXECUTORS.key -> "100", SpringbokConf.CLUSTER_CORES.key -> "8") {
      val df = same(sql)
      assert(record(df).filters.map(_.late.nonEmpty) == Seq(true), record(df).filters.map(_.outcome))
    }
  }
}

object LateFilterSuite {

  val rows = 40000L

  /** True; in the middle it waits for all filters that are expected here. */
  def gate(v: Long): Boolean = {
    val end = System.nanoTime + 60L * 1000 * 1000 * 1000
    while (v == rows / 2 && LateArrivals.open.nonEmpty && System.nanoTime < end) Thread.sleep(5)
    true
  }
}

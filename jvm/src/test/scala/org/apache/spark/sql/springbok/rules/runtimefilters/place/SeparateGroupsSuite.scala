package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.springbok.{Slow, SpringbokTest}
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.report.SpringbokReport

/** Groups that are partitioned by their join's key already, and get an exchange of their own for a filter. */
class SeparateGroupsSuite extends SpringbokTest {
  override protected def sessionConf: Map[String, String] =
    super.sessionConf ++ shuffled ++ Map(
      FilterConf.MIN_BENEFIT_MS.key -> "0",
      // Several tasks have groups of the same key: an aggregate that got lost would show.
      "spark.sql.files.maxPartitionBytes" -> "20000"
    )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    val key = "IF(id % 97 = 0, NULL, id % 3000)"
    table("fact", s"SELECT $key AS k, id AS v FROM range(0, 12000, 1, 1)", groupRows = Some(500))
    table("big", s"SELECT $key AS k, id AS v, id % 7 AS w FROM range(0, 200000, 1, 1)")
    table("other", s"SELECT $key AS k, id AS v FROM range(0, 30000, 1, 1)")
  }

  private val few = "(SELECT k, sum(v) AS s FROM fact GROUP BY k HAVING sum(v) < 19000)"
  private val latest =
    "(SELECT k, v AS s FROM (SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v) AS r FROM fact) WHERE r = 1 AND v < 40)"

  /** Exchanges that ran. */
  private def exchanges(df: DataFrame): Int =
    collect(executed(df)) { case e: Exchange => e }.size

  private def without(sql: String): Int = off {
    val df = spark.sql(sql)
    df.collect(): Unit
    exchanges(df)
  }

  /** Whether the report says why there is an exchange more. */
  private def noted(df: DataFrame): Boolean = SpringbokReport.json(execution(df)).contains("GROUPS_SEPARATED")

  private def filtered(df: DataFrame): Set[String] = used(df).flatMap(_.targetTable).toSet

  for (
    strategy <- Seq("MERGE", "SHUFFLE_HASH");
    (what, sql) <- Seq(
      "inner, HAVING" -> s"SELECT count(*), sum(b.v), sum(g.s) FROM big b JOIN $few g ON b.k = g.k",
      "HAVING, inner" -> s"SELECT count(*), sum(b.v), sum(g.s) FROM $few g JOIN big b ON b.k = g.k",
      "semi" -> s"SELECT count(*), sum(b.v) FROM big b LEFT SEMI JOIN $few g ON b.k = g.k",
      "left outer" -> s"SELECT count(*), sum(b.v), sum(g.s) FROM $few g LEFT JOIN big b ON b.k = g.k",
      "anti" -> s"SELECT count(*), sum(g.s) FROM $few g LEFT ANTI JOIN big b ON b.k = g.k AND b.w = 3"
    )
  )
    test(s"$strategy, $what: the keys of the groups filter the other side") {
      val hinted = sql.replaceFirst("SELECT", s"SELECT /*+ $strategy(b, g), RUNTIME_FILTER_TARGET(b) */")
      val df = same(hinted)
      assert(filtered(df) == Set("big"), record(df).filters.all.map(_.reason.text))
      val rows = applied(df).map(_.metrics("numOutputRows").value).sum
      assert(rows < 25000, rows)
    }

  test(
    "groups whose order is read above them are sorted again for a merge, and stay where they are without one"
  ) {
    val sql = s"count(*), sum(b.v), sum(g.s) FROM big b JOIN $latest g ON b.k = g.k"
    assert(filtered(same(s"SELECT /*+ MERGE(b), RUNTIME_FILTER_TARGET(b) */ $sql")) == Set("big"))
    assert(filtered(same(s"SELECT /*+ SHUFFLE_HASH(b), RUNTIME_FILTER_TARGET(b) */ $sql")).isEmpty)
  }

  test("it is done where it is worth a shuffle, and nowhere else", Slow) {
    val sql = s"SELECT count(*), sum(b.v) FROM big b LEFT SEMI JOIN $few g ON b.k = g.k"
    val all =
      "SELECT count(*), sum(b.v) FROM big b LEFT SEMI JOIN (SELECT k FROM fact GROUP BY k) g ON b.k = g.k"
    val paid = same(sql)
    assert(filtered(paid) == Set("big") && noted(paid))
    val df = same(all)
    assert(filtered(df).isEmpty && exchanges(df) == without(all) && !noted(df))
    conf(FilterConf.MIN_BENEFIT_MS.key -> "100000")(assert(filtered(same(sql)).isEmpty))
    for (
      setting <- Seq(
        FilterConf.SEPARATE.key -> "false",
        FilterConf.MODE.key -> "LOCAL",
        FilterConf.WAIT.key -> "NEVER",
        "spark.sql.adaptive.enabled" -> "false"
      )
    )
      conf(setting)(assert(filtered(same(sql)).isEmpty, setting))
  }

  test("an exchange that no filter is read from is taken back") {
    val sql = s"SELECT count(*), sum(b.v) FROM big b LEFT SEMI JOIN $few g ON b.k = g.k"
    conf(FilterConf.MAX_NUMBER.key -> "0") {
      val df = same(sql)
      assert(filtered(df).isEmpty && exchanges(df) == without(sql) && !noted(df))
    }
  }

  test("groups that two joins read are computed once") {
    val sql = "SELECT count(*), sum(b.v), sum(o.v) FROM big b JOIN other o ON b.k = o.k AND b.w = o.v % 7 " +
      s"WHERE b.k IN (SELECT k FROM $few) AND o.k IN (SELECT k FROM $few)"
    val df = same(sql)
    assert(filtered(df) == Set("big", "other"), record(df).filters.all.map(_.reason.text))
    assert(exchanges(df) == without(sql) + 1)
  }
}

package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.joins.BroadcastNestedLoopJoinExec
import org.apache.spark.sql.springbok.{Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.conf.FilterConf

/** Filters from comparisons that are no equalities: one bound of what the build side holds. */
class RangeFilterSuite extends SpringbokTest {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table(
      "fact",
      """SELECT IF(id % 1000 = 999, NULL, id) AS ts, CAST(id AS INT) AS num, id % 7 AS k, id * 2 AS v,
        |CAST(id AS DECIMAL(12,2)) AS dec, lpad(CAST(id AS STRING), 6, '0') AS str, date_add(DATE'2020-01-01',
        |CAST(id DIV 100 AS INT)) AS day, CAST(id AS DOUBLE) AS dbl FROM range(0, 100000, 1, 1)""".stripMargin,
      groupRows = Some(10000)
    )
    table("parts", "SELECT id, CAST(id % 20 AS INT) AS part FROM range(0, 20000)", partitionBy = Seq("part"))
    table(
      "spans",
      """SELECT id % 7 AS k, id * 10000 + 20005 AS lo, id * 10000 + 25000 AS hi, id AS n,
        |CAST(id * 10000 + 20005 AS DECIMAL(12,2)) AS dlo, lpad(CAST(id * 10000 + 20005 AS STRING), 6, '0') AS slo,
        |date_add(DATE'2020-01-01', CAST(id * 100 + 200 AS INT)) AS since, CAST(20005 AS DOUBLE) AS flo FROM range(3)
        |UNION ALL SELECT 1, NULL, NULL, 9, NULL, NULL, NULL, NULL""".stripMargin
    )
  }

  private def why(df: DataFrame) =
    record(df).filters.all.map(f => (f.sourceKey, f.state, f.kinds, f.reason.text))

  test("rows between the bounds of a few rows: a nested loop join whose scan reads what may match", Smoke) {
    val df =
      same("SELECT /*+ BROADCAST(s) */ f.v, s.n FROM fact f JOIN spans s ON f.ts BETWEEN s.lo AND s.hi")
    assert(joins(df).exists(_.isInstanceOf[BroadcastNestedLoopJoinExec]))
    assert(used(df).flatMap(_.kinds).toSet == Set("min", "max"), why(df))
    assert(used(df).flatMap(_.effect.rowGroups).map(_._1).sum > 0, why(df))
    assert(scanRows(df, "v") < 40000)
  }

  for (
    (op, kind) <- Seq("<" -> "max", "<=" -> "max", ">" -> "min", ">=" -> "min");
    turned <- Seq(false, true);
    (strategy, keys) <- Seq(
      "BROADCAST" -> false,
      "BROADCAST" -> true,
      "SHUFFLE_HASH" -> true,
      "MERGE" -> true
    )
  )
    test(
      s"probe $op build${if (turned) ", written the other way round"
        else ""}, $strategy${if (keys) " with keys" else ""}"
    ) {
      val back = Map("<" -> ">", "<=" -> ">=", ">" -> "<", ">=" -> "<=")
      val compared = if (turned) s"s.lo ${back(op)} f.ts" else s"f.ts $op s.lo"
      val equal = if (keys) "f.k = s.k AND" else ""
      conf(shuffled: _*) {
        val df =
          same(
            s"SELECT /*+ $strategy(s) */ f.v, s.n FROM fact f JOIN spans s ON $equal $compared AND s.n <> 1"
          )
        assert(used(df).exists(_.kinds.contains(kind)), why(df))
      }
    }

  for ((key, bound) <- Seq("dec" -> "dlo", "str" -> "slo", "day" -> "since", "num" -> "lo"))
    test(s"a bound of $key") {
      val df =
        same(s"SELECT /*+ BROADCAST(s) */ f.v, s.n FROM fact f JOIN spans s ON f.$key < s.$bound AND s.n = 0")
      assert(used(df).exists(_.kinds == Seq("max")), why(df))
    }

  test("floating point numbers, which NaN is above, give no bound") {
    val df = same("SELECT /*+ BROADCAST(s) */ f.v, s.n FROM fact f JOIN spans s ON f.dbl < s.flo")
    assert(record(df).filters.all.isEmpty, why(df))
  }

  test("a build side without rows, or of nulls alone, leaves nothing") {
    for (none <- Seq("s.n = 77", "s.n = 9")) {
      val df = same(s"SELECT f.v, s.n FROM fact f JOIN (SELECT * FROM spans s WHERE $none) s ON f.ts < s.lo")
      assert(df.count() == 0)
    }
  }

  test("partitions outside of the bounds are not opened") {
    val df =
      same("SELECT /*+ BROADCAST(s) */ p.id, s.n FROM parts p JOIN spans s ON p.part < s.n WHERE s.n < 3")
    assert(used(df).exists(_.kinds.contains("max")), why(df))
    assert(scanRows(df, "id") == 2000)
  }

  for (
    (kind, filtered) <- Seq(
      "LEFT SEMI JOIN" -> true,
      "LEFT ANTI JOIN" -> false,
      "LEFT JOIN" -> false,
      "FULL JOIN" -> false
    );
    equal <- Seq("", "f.k = s.k AND ")
  )
    test(s"$kind${if (equal.isEmpty) " without equality" else ""}") {
      val on = s"${equal}f.ts < s.lo"
      val df = conf(shuffled: _*)(
        same(
          s"SELECT /*+ BROADCAST(s) */ f.v FROM fact f $kind (SELECT * FROM spans WHERE n = 0) s ON $on"
            .replace("/*+ BROADCAST(s) */", if (equal.isEmpty) "/*+ BROADCAST(s) */" else "/*+ MERGE(s) */")
        )
      )
      val bounds = used(df).filter(_.kinds.contains("max"))
      assert(bounds.nonEmpty == filtered, why(df))
    }

  test("a null-generating side is bounded, the preserved one is not") {
    conf(shuffled: _*) {
      val df = same(
        "SELECT /*+ MERGE(s) */ s.n, f.v FROM spans s LEFT JOIN fact f ON f.k = s.k AND f.ts <= s.lo AND s.n < 2"
      )
      assert(used(df).exists(_.kinds.contains("max")), why(df))
    }
  }

  test("what might raise an error gives no bound") {
    conf("spark.sql.ansi.enabled" -> "true") {
      val raising =
        same("SELECT /*+ BROADCAST(s) */ f.v FROM fact f JOIN spans s ON f.ts < 100000 DIV (s.n + 1)")
      assert(record(raising).filters.all.isEmpty, why(raising))
    }
  }

  test("a value that might raise an error is compared with the bound") {
    conf("spark.sql.ansi.enabled" -> "true") {
      for ((key, pushed) <- Seq("f.num + 1" -> true, "f.num * 2" -> false)) {
        val df = same(s"SELECT /*+ BROADCAST(s) */ f.v FROM fact f JOIN spans s ON $key < s.lo AND s.n = 0")
        assert(used(df).map(_.kinds) == Seq(Seq("max")) && told(df).forall(_.isRight == pushed), why(df))
      }
    }
  }

  test("a bound that most rows are within is not made") {
    val df = same("SELECT /*+ BROADCAST(s) */ f.v FROM fact f JOIN spans s ON f.ts > s.k WHERE s.k < 3")
    assert(used(df).isEmpty && declined(df).contains("NOT_SELECTIVE"), why(df))
  }

  test("kinds that are off, modes and hints hold for bounds too") {
    val sql = "SELECT /*+ BROADCAST(s) */ f.v, s.n FROM fact f JOIN spans s ON f.ts < s.lo"
    conf(FilterConf.TYPES.key -> "IN,BLOOM")(assert(used(same(sql)).isEmpty))
    conf(FilterConf.MODE.key -> "OFF")(assert(used(same(sql)).isEmpty))
    assert(used(same(sql.replace("/*+", "/*+ NO_RUNTIME_FILTER_TARGET(f),"))).isEmpty)
  }
}

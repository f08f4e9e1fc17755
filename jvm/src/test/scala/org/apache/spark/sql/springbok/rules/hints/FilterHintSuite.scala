package org.apache.spark.sql.springbok.rules.hints

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.springbok.{Slow, Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.conf.FilterConf

/** What a query itself says of runtime filters. */
class FilterHintSuite extends SpringbokTest {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT id, id % 3000 AS mid_id, id % 7 AS v FROM range(60000)")
    table("mid", "SELECT id AS mid_id, id % 50 AS dim_id FROM range(3000)")
    table("dim", "SELECT id AS dim_id, id % 10 AS g FROM range(50)")
  }

  private def targets(df: DataFrame) = used(df).flatMap(_.targetTable).toSet
  private val from =
    "FROM fact f JOIN mid m ON f.mid_id = m.mid_id JOIN dim d ON m.dim_id = d.dim_id WHERE d.g = 3"

  test("NO_RUNTIME_FILTER_TARGET keeps the filters of all joins above away from a relation", Slow) {
    conf(shuffled: _*) {
      assert(targets(same(s"SELECT count(*), sum(v) $from")) == Set("fact", "mid"))
      for (
        hint <- Seq(
          "NO_RUNTIME_FILTER_TARGET(f)",
          "no_runtime_filter_target('f')",
          "NO_RUNTIME_FILTER_TARGET(f), MERGE(m)"
        )
      ) {
        val df = same(s"SELECT /*+ $hint */ count(*), sum(v) $from")
        assert(targets(df) == Set("mid") && declined(df).contains("FILTER_HINT"), hint)
      }
      assert(targets(same(s"SELECT /*+ NO_RUNTIME_FILTER_TARGET(f, m) */ count(*), sum(v) $from")).isEmpty)
      // A relation of another scope is another one, and one that is not there is no error.
      val inner = s"SELECT count(*) FROM (SELECT f.id $from) x JOIN dim ON x.id = dim.dim_id"
      assert(
        targets(same(inner.replaceFirst("SELECT", "SELECT /*+ NO_RUNTIME_FILTER_TARGET(f, nowhere) */")))
          .contains("fact")
      )
    }
  }

  test("RUNTIME_FILTER_TARGET asks for a filter that the costs refuse, in the direction that it needs") {
    conf(shuffled: _*) {
      val all = "FROM fact f JOIN mid m ON f.mid_id = m.mid_id"
      assert(targets(same(s"SELECT count(*) $all")).isEmpty)
      assert(targets(same(s"SELECT /*+ RUNTIME_FILTER_TARGET(f) */ count(*) $all")) == Set("fact"))
      assert(targets(same(s"SELECT /*+ RUNTIME_FILTER_TARGET(m) */ count(*) $all")) == Set("mid"))
    }
    conf((FilterConf.MIN_BENEFIT_MS.key -> "1000000") +: shuffled: _*) {
      assert(targets(same(s"SELECT count(*) $from")).isEmpty)
      assert(targets(same(s"SELECT /*+ RUNTIME_FILTER_TARGET(f) */ count(*) $from")).contains("fact"))
    }
  }

  test("RUNTIME_FILTER makes a filter from the keys of its relation, which the costs refuse", Smoke, Slow) {
    val all = "FROM fact f JOIN mid m ON f.mid_id = m.mid_id"
    def hinted(hint: String, from: String = all) = targets(same(s"SELECT /*+ $hint */ count(*) $from"))
    conf(shuffled: _*) {
      assert(targets(same(s"SELECT count(*) $all")).isEmpty)
      assert(hinted("RUNTIME_FILTER(m)") == Set("fact") && hinted("runtime_filter('f')") == Set("mid"))
      assert(hinted("MERGE(m), RUNTIME_FILTER(m)") == Set("fact"))
      assert(hinted("RUNTIME_FILTER(m), RUNTIME_FILTER_TARGET(f)") == Set("fact"))
      // A side whose rows are all kept is no target, whatever the hint says.
      assert(hinted("RUNTIME_FILTER(m)", all.replace("JOIN", "LEFT JOIN")).isEmpty)
      assert(hinted("RUNTIME_FILTER(m), NO_RUNTIME_FILTER_TARGET(f)").isEmpty)
      val mid = spark.table("mid").hint("runtime_filter")
      val df = spark.table("fact").join(mid, "mid_id").groupBy("v").count()
      val rows = sorted(df.collect())
      assert(rows == off(sorted(df.select("*").collect())) && targets(df) == Set("fact"))
    }
    conf((FilterConf.MIN_BENEFIT_MS.key -> "1000000") +: shuffled: _*) {
      assert(hinted("RUNTIME_FILTER(m)", from).contains("fact"))
    }
  }

  // A hint that had been renamed once failed the query.
  test("no hint fails a query, whatever its name and parameters are", Slow) {
    for (
      hint <- Seq(
        "NO_RUNTIME_FILTER(f)",
        "RUNTIME_FILTER(1)",
        "RUNTIME_FILTER(null)",
        "RUNTIME_FILTER('f..')",
        "SHUFFLE(a.b.c.d, 'x')",
        "RUNTIME_FILTER_TARGET(f, f)"
      )
    ) {
      same(s"SELECT /*+ $hint */ count(*) $from"): Unit
      val exists = s"EXISTS (SELECT /*+ $hint */ 1 FROM fact f WHERE f.mid_id = x.mid_id)"
      same(s"SELECT * FROM mid x WHERE $exists"): Unit
    }
    assert(spark.table("fact").hint("no_runtime_filter").count() == 60000)
    assert(spark.table("fact").hint("runtime_filter", 3, "f.").count() == 60000)
  }

  test("DataFrames give the same hints") {
    conf(shuffled: _*) {
      def joined(hint: String) = {
        val fact = if (hint.isEmpty) spark.table("fact") else spark.table("fact").hint(hint)
        val df = fact.join(spark.table("mid").where("dim_id = 3"), "mid_id").groupBy("v").count()
        val rows = sorted(df.collect())
        assert(rows == off(sorted(df.select("*").collect())))
        df
      }
      assert(targets(joined("")) == Set("fact") && targets(joined("no_runtime_filter_target")).isEmpty)
      assert(targets(joined("runtime_filter_target")) == Set("fact"))
    }
  }

  test("a hint of a strategy beside one of filters is followed") {
    for (hints <- Seq("NO_RUNTIME_FILTER_TARGET(m), MERGE(m)", "MERGE(m), NO_RUNTIME_FILTER_TARGET(m)")) {
      val df = same(s"SELECT /*+ $hints */ count(*) FROM fact f JOIN mid m ON f.mid_id = m.mid_id")
      assert(record(df).joins.head.latest.get.choice.reason.code == "USER_HINT", hints)
    }
  }
}

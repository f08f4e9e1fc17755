package org.apache.spark.sql.springbok.rules.runtimefilters.resolve

import org.apache.spark.sql.springbok.{Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.keys.KeyBitmap

/**
 * Whole-number keys that lie close together are tested by one bit each: answers as without, and no foreign row passes.
 *
 * A filter was once tested row by row to save lookups in small dense relations, although such a lookup costs
 * less than the test (TPC-DS q96 and q99). `FilterCost.lookup` now has the measured cost.
 */
class BitmapFilterSuite extends SpringbokTest {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    def keys(id: String) =
      s"""CAST($id % 100 - 50 AS TINYINT) AS tiny, CAST($id - 1000 AS SMALLINT) AS small, CAST($id - 1000 AS INT) AS num,
         |$id + 9223372036854700000 AS high, -9223372036854775808 + $id AS low, $id * 1000003 AS apart,
         |date_add(DATE'1969-06-01', CAST($id AS INT)) AS d""".stripMargin
    table(
      "fact",
      s"SELECT id AS n, IF(id % 97 = 0, NULL, ${"id % 2000"}) AS k, ${keys("(id % 2000)")} FROM range(60000)"
    )
    table("mid", s"SELECT id AS k, ${keys("id")}, id % 50 AS grp FROM range(2000)")
  }

  test("a bitmap holds its keys and nothing else, at both ends of the range of a long") {
    for (min <- Seq(Long.MinValue, -70L, 0L, 5L, Long.MaxValue - 300)) {
      val keys = Seq(0L, 1L, 63L, 64L, 65L, 200L, 300L).map(min + _)
      val b = KeyBitmap.over(keys.head, keys.last)
      keys.foreach(b.put)
      val asked = (0L to 400L).map(min + _) ++ (1L to 70L).map(min - _) ++
        Seq(Long.MinValue, Long.MaxValue, min + (1L << 37), min + Long.MinValue)
      asked.foreach(k => assert(b.contains(k) == keys.contains(k), s"$min $k"))
    }
    assert(KeyBitmap.bytes(3, 3).contains(8L) && KeyBitmap.bytes(0, 64).contains(16L))
    assert(KeyBitmap.bytes(Long.MinValue, Long.MaxValue).isEmpty && KeyBitmap.bytes(0, Long.MaxValue).isEmpty)
  }

  for (key <- Seq("k", "small", "num", "high", "low", "d"); codegen <- Seq(true, false))
    test(s"key $key${if (codegen) "" else ", without code generation"}") {
      conf(
        noBroadcast,
        noSparkBroadcast,
        "spark.sql.codegen.wholeStage" -> codegen.toString,
        "spark.sql.codegen.factoryMode" -> (if (codegen) "FALLBACK" else "NO_CODEGEN")
      ) {
        val df = same(s"SELECT count(*), sum(n) FROM fact f JOIN mid m ON f.$key = m.$key WHERE m.grp = 7")
        assert(used(df).map(_.kinds).exists(_.contains("bitmap")), record(df).filters.all.map(_.reason.text))
        // No false positives: 40 of 2,000 keys.
        assert(applied(df).forall(_.metrics("numOutputRows").value <= 1200))
      }
    }

  test("read from a broadcast, of keys that Spark packs into one long as well", Smoke) {
    conf("spark.sql.join.preferSortMergeJoin" -> "false") {
      val hinted = "/*+ BROADCAST(m), RUNTIME_FILTER_TARGET(f) */"
      for (on <- Seq("f.k = m.k", "f.num = m.num AND f.d = m.d", "f.apart = m.apart AND f.k = m.k")) {
        val df = same(s"SELECT $hinted count(*), sum(n) FROM fact f JOIN mid m ON $on WHERE m.grp < 3")
        assert(
          used(df).map(_.kinds).exists(_.contains("bitmap")),
          s"$on ${record(df).filters.all.map(_.reason.text)}"
        )
      }
    }
  }

  test("keys that lie far apart are kept in a bloom filter, and so are all where lists are off") {
    conf(shuffled: _*) {
      def kinds(key: String) =
        used(same(s"SELECT count(*), sum(n) FROM fact f JOIN mid m ON f.$key = m.$key WHERE m.grp = 7"))
          .flatMap(_.kinds)
      assert(kinds("apart").contains("bloom") && !kinds("apart").contains("bitmap"))
      conf(FilterConf.TYPES.key -> "BLOOM")(assert(kinds("k") == Seq("bloom")))
      conf(FilterConf.TYPES.key -> "IN")(assert(kinds("k").contains("bitmap")))
    }
  }
}

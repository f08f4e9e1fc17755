package org.apache.spark.sql.springbok.rules.runtimefilters.resolve

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec
import org.apache.spark.sql.execution.springbok.SummarizeKeysExec
import org.apache.spark.sql.springbok.{Slow, Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.conf.FilterConf

/** The keys of a large broadcast are summarized by its tasks, and those of a small one are read by the driver. */
class SummarizedBroadcastSuite extends SpringbokTest {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table(
      "fact",
      "SELECT id AS n, IF(id % 97 = 0, NULL, id * 7919 % 30000000) AS k, id % 40 AS small FROM range(400000)"
    )
    table("big", "SELECT id * 101 AS k, concat('k', id) AS name, id % 40 AS small FROM range(250000)")
    table("tiny", "SELECT id * 101 AS k FROM range(1000)")
  }

  private val hints = "/*+ BROADCAST(b), RUNTIME_FILTER_TARGET(f) */"

  /** The summaries under broadcasts that tasks have made. */
  private def summaries(df: DataFrame): Seq[SummarizeKeysExec] =
    collect(executed(df)) { case b: BroadcastQueryStageExec => SummarizeKeysExec.summaryOf(b) }.flatten
      .filter(_.plan.keys.nonEmpty)

  private def joined(build: String, on: String): DataFrame =
    same(s"SELECT $hints count(*), sum(n) FROM fact f JOIN $build b ON $on")

  for (codegen <- Seq(true, false))
    test(s"tasks summarize many keys${if (codegen) "" else ", without code generation"}", Smoke) {
      conf("spark.sql.codegen.wholeStage" -> codegen.toString) {
        val df = joined("big", "f.k = b.k")
        val made = summaries(df).head
        assert(made.tasks > 0 && made.summary.partitions == made.tasks)
        assert(made.summary.key(0).range.contains((0L, 249999L * 101)))
        assert(used(df).exists(_.kinds.contains("bloom")), record(df).filters.all.map(_.reason.text))
        // The filter removes about all rows without a partner.
        assert(applied(df).exists(_.metrics("numOutputRows").value < 40000))
      }
    }

  // The filter was declined before the summary was looked at.
  test("of more keys than the driver reads, the summary is used") {
    conf(FilterConf.MAX_KEYS.key -> "1000") {
      val df = joined("big", "f.k = b.k")
      assert(used(df).exists(_.kinds.contains("bloom")), record(df).filters.all.map(_.reason.text))
      assert(applied(df).exists(_.metrics("numOutputRows").value < 40000))
      assert(declined(joined("tiny", "f.k = b.k")).isEmpty)
    }
    conf(FilterConf.MAX_KEYS.key -> "10")(
      assert(declined(joined("tiny", "f.k = b.k")).contains("TOO_MANY_KEYS"))
    )
  }

  test("keys of two columns, of strings, and null-safe ones", Slow) {
    for (
      on <- Seq(
        "f.k = b.k AND f.small = b.small",
        "concat('k', f.k) = b.name",
        "f.k <=> b.k"
      )
    ) assert(summaries(joined("big", on)).nonEmpty, on)
  }

  test("the driver reads few keys") {
    val df = joined("tiny", "f.k = b.k")
    assert(summaries(df).isEmpty && used(df).nonEmpty)
  }

  test("of few distinct keys in many rows, all are listed") {
    val df = joined("big", "f.small = b.small AND f.k = b.k")
    assert(summaries(df).head.plan.keys.size >= 1)
    val alone =
      same(s"SELECT $hints count(*) FROM fact f WHERE small IN (SELECT small FROM big b WHERE k > 5)")
    assert(record(alone).filters.all.nonEmpty)
  }

  test("a broadcast that two joins share has one summary") {
    val df = same(
      s"SELECT $hints count(*) FROM fact f JOIN big b ON f.k = b.k JOIN big c ON f.small = c.k WHERE c.k < 5000000"
    )
    assert(used(df).nonEmpty)
  }
}

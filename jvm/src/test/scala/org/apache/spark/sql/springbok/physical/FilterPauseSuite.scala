package org.apache.spark.sql.springbok.physical

import org.apache.spark.sql.catalyst.expressions.{GreaterThanOrEqual, Literal}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.springbok.{AppliedRuntimeFilterExec, FilterSampler, RuntimeFilterExec}
import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.cost.FilterCost
import org.apache.spark.sql.springbok.record.RuntimeFilter

/** When a task stops testing a filter that rejects too little. */
class FilterPauseSuite extends SpringbokTest {
  override protected def sessionConf: Map[String, String] =
    super.sessionConf ++ Map(
      "spark.sql.parquet.enableVectorizedReader" -> "false",
      "spark.sql.adaptive.enabled" -> "false"
    )

  test("a task that rejects too little pauses, looks again, and pauses longer") {
    val s = new FilterSampler(100)
    def tested(rows: Int): Int = (1 to rows).count(_ => !s.paused() && { s.saw(passed = true): Unit; true })
    val n = 1 << 20
    val t = tested(n)
    assert(t > 0 && t < n / 8, t.toString)
    val useful = new FilterSampler(100)
    assert((1 to n).forall(_ => !useful.paused() && !useful.saw(passed = false)))
  }

  // Spark's shuffle checksums take that for an indeterminate stage.
  test("a filter paused on rows of no fixed order: a task that ran again wrote other rows than before") {
    table("rows", "SELECT id AS k FROM range(200000)")
    spark.sql("CACHE TABLE kept AS SELECT k + 1 AS k FROM rows"): Unit
    spark.sql("CACHE TABLE spread AS SELECT /*+ REPARTITION(2, k) */ k + 2 AS k FROM rows"): Unit
    def pauses(sql: String, grouped: Boolean = false): Long = {
      val child = executed(spark.sql(sql))
      val key = child.output.head
      val f = RuntimeFilter(null, null, 0, None, FilterCost.Saving(0), minRejection = 0.1, grouped = grouped)
      // True of every row.
      val predicate = GreaterThanOrEqual(key, Literal(0L))
      val filter = AppliedRuntimeFilterExec(null, key, Some(predicate), null: SparkPlan, child)(f)
      assert(filter.execute().count() == 200000)
      filter.metrics("numPauses").value
    }
    assert(pauses("SELECT * FROM rows") > 0)
    assert(pauses("SELECT * FROM rows WHERE k >= 0") > 0)
    assert(pauses("SELECT /*+ REPARTITION(2, k) */ * FROM rows") == 0)
    assert(pauses("SELECT * FROM kept") > 0)
    assert(pauses("SELECT * FROM spread") == 0)
    conf("spark.sql.sources.useV1SourceList" -> "") {
      val files = folder.resolve("rows")
      assert(pauses(s"SELECT * FROM parquet.`$files`") > 0)
    }
    assert(pauses("SELECT id AS k FROM range(200000)") == 0)
    // Of a group all rows go or none.
    assert(pauses("SELECT * FROM rows", grouped = true) == 0)
    for (t <- Seq("kept", "spread")) spark.sql(s"UNCACHE TABLE $t"): Unit
  }

  // A filter below an aggregate once reused the stage of one that may leave a part of a group.
  test("a filter that takes whole groups is another one than a filter that does not") {
    table("few", "SELECT id AS k FROM range(1000)")
    val child = executed(spark.sql("SELECT * FROM few"))
    val forms = for (grouped <- Seq(false, true)) yield {
      val f = RuntimeFilter(null, null, 0, None, FilterCost.Saving(0), minRejection = 0.1, grouped = grouped)
      Seq(
        AppliedRuntimeFilterExec(null, child.output.head, None, null: SparkPlan, child)(f).canonicalized,
        RuntimeFilterExec(null, child.output.head, child, child)(f).canonicalized
      )
    }
    assert(forms.head.zip(forms.last).forall { case (a, b) => a != b })
  }
}

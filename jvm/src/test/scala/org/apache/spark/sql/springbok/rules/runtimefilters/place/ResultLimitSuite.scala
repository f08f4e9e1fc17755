package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.springbok.{Slow, SpringbokTest}

/** Summaries where the driver takes few bytes of a task. */
class ResultLimitSuite extends SpringbokTest {
  override protected def sessionConf: Map[String, String] =
    super.sessionConf + ("spark.driver.maxResultSize" -> "1m")

  // Spark drops the result of a task that is larger than the limit. A shuffle's tasks failed until the job ended.
  test("the summary of a shuffle's task stays below the limit of a result", Slow) {
    table("keys", "SELECT id AS k, id % 2 AS g FROM range(0, 3000000, 1, 2)")
    table("facts", "SELECT id * 7 AS k FROM range(0, 1000000, 1, 2)")
    val df = conf(shuffled: _*)(
      same(
        "SELECT /*+ RUNTIME_FILTER(b), MERGE(b) */ count(*), sum(f.k) FROM facts f JOIN keys b ON f.k = b.k WHERE b.g = 1"
      )
    )
    assert(executed(df).toString.contains("RuntimeFilterSource"), executed(df))
  }
}

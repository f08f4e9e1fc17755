package org.apache.spark.sql.springbok.record

import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.conf.PlanningConf

/** Which queries count as running. */
class RunningQueriesSuite extends SpringbokTest {

  // A server of small joins decides none of them by cost, and only such a decision removed what had ended.
  test("queries that were left to Spark were kept for good") {
    table("pairs", "SELECT id AS k FROM range(10)")
    conf(PlanningConf.BUDGET.key -> "0.25") {
      for (_ <- 1 to 3) spark.sql("SELECT count(*) FROM pairs a JOIN pairs b ON a.k = b.k").collect()
    }
    spark.sparkContext.listenerBus.waitUntilEmpty()
    assert(RunningQueries.count == 0)
  }
}

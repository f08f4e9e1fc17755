package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.springbok.{FinishedQueries, SpringbokTest}

class LastReportsSuite extends SpringbokTest {
  test("a context that has stopped before its first query is let be") {
    spark.stop()
    FinishedQueries.listenTo(spark.sparkContext)
    assert(LastReports.last(spark, 1).isEmpty)
  }
}

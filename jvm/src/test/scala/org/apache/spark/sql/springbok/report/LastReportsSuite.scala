package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.springbok.{FinishedQueries, SpringbokTest}

class LastReportsSuite extends SpringbokTest {
  test("an action is named as its caller calls it") {
    val names = Seq(
      "collect",
      "collectToPython",
      "collectAsArrowToPython",
      "collectAsArrowToR",
      "tailToPython",
      "count"
    )
    assert(names.map(Executions.action) == Seq("collect", "collect", "collect", "collect", "tail", "count"))
  }

  test("a context that has stopped before its first query is let be") {
    spark.stop()
    FinishedQueries.listenTo(spark.sparkContext)
    assert(LastReports.last(spark, 1).isEmpty)
  }
}

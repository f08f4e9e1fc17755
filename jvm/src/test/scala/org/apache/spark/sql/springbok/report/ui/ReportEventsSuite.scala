package org.apache.spark.sql.springbok.report.ui

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.report.{ReportJson, SpringbokReport}

class ReportEventsSuite extends SpringbokTest {
  test("the size of a report is that of its bytes") {
    table("names", "SELECT id AS k, concat('ü', id) AS name FROM range(100)")
    val df = spark.sql("SELECT a.k FROM names a JOIN names b ON a.k = b.k WHERE a.name <> 'Größe 日本語'")
    val report = SpringbokReport.of(execution(df))
    val whole = ReportJson.write(report)
    val bytes = whole.getBytes(UTF_8).length
    assert(bytes > whole.length)
    assert(ReportEvents.bounded(report, whole, bytes.toLong).contains(whole))
    val shorter = ReportEvents.bounded(report, whole, bytes - 1L)
    assert(shorter.exists(_.getBytes(UTF_8).length < bytes))
    assert(ReportEvents.bounded(report, whole, 10).isEmpty)
  }
}

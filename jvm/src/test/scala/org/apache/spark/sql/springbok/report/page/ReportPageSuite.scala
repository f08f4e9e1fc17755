package org.apache.spark.sql.springbok.report.page

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, PrintStream}
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.report.{ReportJson, SpringbokReport}

class ReportPageSuite extends SpringbokTest {
  private val query = "SELECT f.v FROM facts f JOIN dims d ON f.k = d.k WHERE d.name = '</code><script>7'"

  override def beforeAll(): Unit = {
    super.beforeAll()
    table("facts", "SELECT id AS v, id % 1000 AS k FROM range(20000)")
    table("dims", "SELECT id AS k, concat('</code><script>', id) AS name FROM range(1000)")
  }

  test("a page is self-contained, escaped and has no script") {
    val df = spark.sql(query)
    df.collect(): Unit
    val report = SpringbokReport.of(execution(df))
    val page = ReportPage.page(report)
    assert(page.contains("&lt;/code&gt;&lt;script&gt;7") && !page.contains("<script"))
    assert(!page.contains("http") && !page.contains("src="))
    assert(page.contains(ReportPage.fragment(report)))
    assert("<rect".r.findAllIn(page).size == report.fragments.size)
    assert(page.contains("left expected") && page.contains("output observed"))
  }

  test("a saved report becomes a page") {
    val report = SpringbokReport.of(execution(spark.sql(query.replace("7", "🦌"))))
    val (in, out, made) = (System.in, System.out, new ByteArrayOutputStream)
    try {
      System.setIn(new ByteArrayInputStream(ReportJson.write(report).getBytes(UTF_8)))
      System.setOut(new PrintStream(made))
      ReportPage.main(Array.empty)
    } finally {
      System.setIn(in)
      System.setOut(out)
    }
    assert(made.toString("UTF-8") == ReportPage.page(report) && ReportPage.page(report).contains("🦌"))
  }

  test("a list has a query's numbers") {
    val df = spark.sql(query)
    df.collect(): Unit
    val s = ReportSummary(SpringbokReport.of(execution(df)))
    assert(s.joins == 1 && s.filters >= 1 && s.filtersUsed <= s.filters && s.warnings == 0)
  }
}

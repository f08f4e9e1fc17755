package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.report.model.SavedEntry

/** What a report says was saved, against a run without filters. */
class SavingsReportSuite extends SpringbokTest {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT id, id * 7 % 1000 AS k, id AS v FROM range(50000)")
    table("sorted", "SELECT id, id DIV 50 AS k, id AS v FROM range(50000)", groupRows = Some(1000))
    table("dim", "SELECT id AS k, id % 10 AS grp, id DIV 100 AS block FROM range(1000)")
  }

  private def saved(df: DataFrame): SavedEntry = SpringbokReport.of(execution(df)).saved.get

  private def sent(df: DataFrame): Long =
    collectWithSubqueries(executed(df)) { case e: ShuffleExchangeLike => e.metrics("dataSize").value }.sum

  private def sql(fact: String, where: String) =
    s"SELECT f.id, f.v, d.grp FROM $fact f JOIN dim d ON f.k = d.k WHERE $where"

  private def without(sql: String): Long = off {
    val df = spark.sql(sql)
    df.collect(): Unit
    sent(df)
  }

  test("rows that were removed, and what no shuffle moved") {
    conf(shuffled: _*) {
      val query = sql("fact", "d.grp = 3")
      val df = same(query)
      val s = saved(df)
      assert(s.rowsRemoved == 45000 && s.rowsNotRead == 0 && s.coreMs > 1, s)
      val real = without(query) - sent(df)
      assert(math.abs(s.bytesNotShuffled - real) < 0.1 * real, (s, real))
    }
  }

  test("rows of row groups that were skipped") {
    conf(shuffled: _*) {
      val query = sql("sorted", "d.block = 4")
      val df = same(query)
      val s = saved(df)
      assert(math.abs(s.rowsNotRead - 45000) <= 2000, s)
      val real = without(query) - sent(df)
      assert(math.abs(s.bytesNotShuffled - real) < 0.15 * real, (s, real))
    }
  }

  test("row groups that the scan's own condition rules out were not saved by a filter") {
    conf(shuffled: _*) {
      // Spark puts the condition on both sides.
      val s = saved(same(sql("sorted", "d.k BETWEEN 400 AND 499")))
      assert(s.rowsNotRead < 1000, s)
    }
  }

  test("a join before the shuffle would have removed the rows as well") {
    val query =
      "SELECT /*+ BROADCAST(d), RUNTIME_FILTER(d) */ f.v, count(*) FROM fact f JOIN dim d ON f.k = d.k " +
        "WHERE d.grp = 3 GROUP BY f.v"
    val s = saved(same(query))
    assert(s.rowsRemoved == 45000 && s.bytesNotShuffled == 0, s)
  }

  test("nothing is said of a query that has not run, or has no filter") {
    conf(shuffled: _*) {
      assert(SpringbokReport.of(execution(spark.sql(sql("fact", "d.grp = 3")))).saved.isEmpty)
      val df = same("SELECT count(*) FROM fact")
      assert(SpringbokReport.of(execution(df)).saved.isEmpty)
    }
  }
}

package org.apache.spark.sql.springbok.rules.reorder

import org.apache.spark.sql.springbok.conf.{FilterConf, ReorderConf}
import org.apache.spark.sql.springbok.record.LoggedOrder
import org.apache.spark.sql.springbok.stats.history.HistoryTest

/** The rows of finished queries decide the order of joins. */
class LearnedOrderSuite extends HistoryTest {
  override protected def sessionConf: Map[String, String] = super.sessionConf ++ Map(
    ReorderConf.ENABLED.key -> "true",
    ReorderConf.MIN_GAIN.key -> "0",
    ReorderConf.MIN_GAIN_MS.key -> "0",
    // Otherwise the rows of joins below others are not those that they have alone.
    FilterConf.MODE.key -> "OFF"
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    // Half of all rows are of customer 7.
    table(
      "sales",
      "SELECT id AS s, CASE WHEN id % 2 = 0 THEN 7 ELSE id % 1000 END AS customer, id % 50 AS product FROM range(40000)"
    )
    table("customers", "SELECT id AS c, id % 500 AS region FROM range(1000)")
    table("products", "SELECT id AS p, id % 25 AS kind FROM range(50)")
  }

  private def order(sql: String): LoggedOrder = record(learned(sql)).orders.head

  private val from = "FROM sales JOIN customers ON customer = c JOIN products ON product = p"

  test("the rows of a join that has run decide, whatever order it was part of") {
    val sql = s"SELECT count(*), max(s) $from WHERE region = 7 AND kind = 4"
    assert(order(sql).after.isEmpty)
    val second = order(sql)
    assert(second.reason.code == "LOWER_COST" && second.after.contains("sales, products, customers"), second)
    // The joins of the new order are known now, and it stays.
    val third = order(sql)
    assert(third.after == second.after, third)
  }

  test("sets of relations are known by the plan that another query had") {
    learned(
      "SELECT count(*) FROM customers JOIN sales ON c = customer WHERE region = 7 AND product IS NOT NULL"
    ): Unit
    assert(order(s"SELECT count(*), max(s) $from WHERE region = 7 AND kind = 4").after.isDefined)
  }
}

package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.springbok.{Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.conf.PlanningConf
import org.apache.spark.sql.springbok.cost.PlanningBudget
import org.apache.spark.sql.springbok.report.{ExplainSection, SpringbokReport}
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Seconds, Span}

/** Queries with little data are left to Spark. */
class PlanningBudgetSuite extends SpringbokTest with Eventually {
  private val query = "SELECT f.v, d.grp FROM facts f JOIN dims d ON f.k = d.k WHERE d.grp = 3"

  // With two large sides, Springbok's costs and Spark's sizes differ.
  override protected def sessionConf: Map[String, String] =
    super.sessionConf ++ shuffled + (PlanningConf.BUDGET.key -> "0.05")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("facts", "SELECT id % 1000 AS k, id AS v FROM range(20000)")
    table("dims", "SELECT id AS k, id % 10 AS grp FROM range(1000)")
  }

  private def leftToSpark(df: DataFrame): Boolean = {
    val log = record(df)
    if (log.leftToSpark.isDefined) assert(log.joins.isEmpty && log.filters.isEmpty, log)
    log.leftToSpark.exists(_.code == "LITTLE_DATA")
  }

  private def plan(df: DataFrame): String = execution(df).sparkPlan.canonicalized.toString

  test("a query of little data has Spark's plan, and the report says why", Smoke) {
    val df = same(query)
    assert(leftToSpark(df) && plan(df) == off(plan(spark.sql(query))))
    val report = SpringbokReport.of(execution(df))
    assert(report.note.exists(_.contains("too little")), report.note)
    assert(
      report.joins.map(j => j.plannedBySpark -> j.reason.map(_.code)) == Seq(true -> Some("LITTLE_DATA"))
    )
    assert(ExplainSection.of(executed(df)).startsWith("The query reads"))
  }

  test("every query is planned if the budget is 0, and one with hints always") {
    conf(PlanningConf.BUDGET.key -> "0")(assert(used(same(query)).nonEmpty))
    assert(!leftToSpark(same(query.replace("SELECT", "SELECT /*+ MERGE(d) */"))))
  }

  test("cached tables count with their size, before and after they are filled") {
    spark.table("facts").cache().createOrReplaceTempView("cached")
    val cached = query.replace("facts", "cached")
    assert(leftToSpark(spark.sql(cached)))
    assert(leftToSpark(same(cached)))
  }

  test("local checkpoints count with their size once they are stored") {
    spark.table("facts").localCheckpoint().createOrReplaceTempView("checkpointed")
    eventually(timeout(Span(60, Seconds)))(assert(leftToSpark(same(query.replace("facts", "checkpointed")))))
  }

  test("a query whose data is not known is planned") {
    spark.table("facts").localCheckpoint(eager = false).createOrReplaceTempView("unknown")
    assert(!leftToSpark(spark.sql(query.replace("facts", "unknown"))))
  }

  test("subqueries are measured by themselves") {
    val df = same(s"SELECT * FROM dims WHERE grp > (SELECT avg(grp) FROM ($query))")
    assert(SpringbokReport.of(execution(df)).note.exists(_.contains("too little")))
  }

  test("the more joins there are, the more data a query needs") {
    val (small, large) = (PlanningBudget.rulesMs(10, 1), PlanningBudget.rulesMs(100, 10))
    assert(small < large && PlanningBudget.workMs(1e6) < PlanningBudget.workMs(2e6))
  }
}

package org.apache.spark.sql.springbok.rules.joins

import java.nio.file.Files

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.springbok.{Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.conf.{JoinConf, PlanningConf}
import org.apache.spark.sql.springbok.cost.PlanningBudget
import org.apache.spark.sql.springbok.record.PlanningState
import org.apache.spark.sql.springbok.report.{ExplainSection, SpringbokReport}
import org.apache.spark.sql.springbok.stats.source.InputSize
import org.apache.spark.sql.util.QueryExecutionListener
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
    if (log.leftToSpark.isDefined) assert(log.joins.isEmpty && log.filters.all.isEmpty, log)
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

  private def leftBecause(df: DataFrame): Option[String] = record(df).leftToSpark.map(_.code)

  test("a plan that returns nothing because a table has no file has no data") {
    spark.range(0).selectExpr("id AS k", "id AS v").write.parquet(folder.resolve("schema").toString)
    Files.createDirectory(folder.resolve("empty")): Unit
    val schema = spark.read.parquet(folder.resolve("schema").toString).schema
    spark.read.schema(schema).parquet(folder.resolve("empty").toString).createOrReplaceTempView("nothing")
    conf(PlanningConf.BUDGET.key -> "0.001") {
      def code(join: String) = leftBecause(
        same(s"SELECT d.grp, count(*) FROM dims d $join WHERE d.grp > 3 GROUP BY d.grp")
      )
      assert(code("JOIN facts f ON f.k = d.k JOIN nothing n ON n.k = d.k").contains("LITTLE_DATA"))
      assert(code("LEFT SEMI JOIN nothing n ON n.k = d.k").contains("LITTLE_DATA"))
    }
    def bytes(join: String) =
      InputSize.of(execution(spark.sql(s"SELECT f.v FROM facts f $join")).optimizedPlan).map(_.bytes)
    assert(bytes("JOIN nothing n ON n.k = f.k").contains(0.0))
    assert(bytes("JOIN (SELECT DISTINCT k FROM nothing) n ON n.k = f.k").contains(0.0))
    // An aggregate without groups returns a row.
    assert(bytes("JOIN (SELECT count(*) AS k FROM nothing) n ON n.k = f.k").exists(_ > 0))
    assert(bytes("LEFT JOIN nothing n ON n.k = f.k").exists(_ > 0))
    assert(bytes("LEFT ANTI JOIN nothing n ON n.k = f.k").exists(_ > 0))
  }

  // With a broadcast, the files were deleted before they were read, and the job failed.
  test("a query that overwrites files that it reads is left to Spark") {
    val path = folder.resolve("rewritten").toString
    spark.range(20000).selectExpr("id % 1000 AS k", "id AS v").write.parquet(path)
    val broadcast = JoinConf.BROADCAST_BYTES_LIMIT.key -> "64m"
    def written(mode: String, to: String): Option[String] = {
      var found = Option.empty[String]
      val listener = new QueryExecutionListener {
        override def onSuccess(name: String, qe: QueryExecution, ns: Long): Unit =
          found = PlanningState.of(qe.optimizedPlan).flatMap(_.leftToSpark).map(_.code)
        override def onFailure(name: String, qe: QueryExecution, e: Exception): Unit = ()
      }
      spark.listenerManager.register(listener)
      try
        conf(broadcast, PlanningConf.BUDGET.key -> "0") {
          spark.read.parquet(path).join(spark.table("dims").select("k"), "k").write.mode(mode).parquet(to)
          spark.sparkContext.listenerBus.waitUntilEmpty()
        }
      finally spark.listenerManager.unregister(listener)
      found
    }
    assert(written("overwrite", path).contains("OVERWRITES_INPUT"))
    assert(spark.read.parquet(path).count() == 20000)
    assert(written("append", path).isEmpty && written("overwrite", s"$path-elsewhere").isEmpty)
  }

  test("cached tables count with their size, before and after they are filled") {
    spark.table("facts").cache().createOrReplaceTempView("cached")
    val cached = query.replace("facts", "cached")
    // Spark 3.5 does not keep the logical plan of what will fill a cache.
    assert(leftToSpark(spark.sql(cached)) == SPARK_VERSION >= "4.0")
    assert(same(cached).count() > 0 && leftToSpark(spark.sql(cached)))
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

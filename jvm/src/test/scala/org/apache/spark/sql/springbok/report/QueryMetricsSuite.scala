package org.apache.spark.sql.springbok.report

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.conf.{PlanningConf, ReportConf, SpringbokConf}

class QueryMetricsSuite extends SpringbokTest {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("facts", "SELECT id % 5000 AS k, id AS v FROM range(100000)")
    table("keys", "SELECT id AS k, id % 50 AS g FROM range(5000)")
  }

  private val query = "SELECT f.v FROM facts f JOIN keys k ON f.k = k.k WHERE k.g < 5"

  private def counters: Map[String, Long] = {
    spark.sparkContext.listenerBus.waitUntilEmpty(10000)
    val sources = spark.sparkContext.env.metricsSystem.getSourcesByName("springbok")
    assert(sources.size == 1)
    sources.head.metricRegistry.getCounters.asScala.map { case (name, c) => name -> c.getCount }.toMap
  }

  /** By how much the counters grow. */
  private def growth(body: => Unit): Map[String, Long] = {
    spark.sql(query).queryExecution.executedPlan: Unit
    val before = counters
    body
    counters.map { case (name, n) => name -> (n - before(name)) }
  }

  test("queries with joins are counted, with or without reports") {
    for (settings <- Seq(Nil, Seq(ReportConf.RETAINED.key -> "0", ReportConf.EVENTS.key -> "false")))
      conf(settings: _*) {
        val grown = growth {
          spark.sql("SELECT count(*) FROM facts").collect(): Unit
          // A session of the same application has no counters of its own.
          val df = spark.newSession().sql("SELECT 1")
          df.collect(): Unit
          spark.sql(query).collect(): Unit
        }
        assert(grown("queries") == 1 && grown("failures") == 0, grown)
        assert(grown("filtersUsed") >= 1 && grown("rowsRemoved") > 0, grown)
      }
  }

  test("joins that Spark alone would plan in another way") {
    conf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      assert(growth(spark.sql(query).collect(): Unit)("joinsChanged") == 1)
    }
  }

  test("what filters saved, what scans waited, and what is left to Spark") {
    conf(shuffled: _*) {
      val grown = growth(spark.sql(query).collect(): Unit)
      assert(grown("savedCoreMs") >= 0 && grown("waitedMs") > 0 && grown("leftToSpark") == 0, grown)
      val left = growth(spark.sql(query.replace("SELECT", "SELECT /*+ SPRINGBOK_OFF */")).collect(): Unit)
      assert(left("leftToSpark") == 1 && left("filtersUsed") == 0, left)
    }
  }

  test("a planned subquery counts also where its query is left to Spark") {
    conf((PlanningConf.BUDGET.key -> "0.25") +: shuffled: _*) {
      val subquery = query.replace("SELECT f.v", "SELECT /*+ MERGE(k) */ avg(f.v)")
      val grown = growth(
        spark
          .sql(s"SELECT count(*) FROM keys a JOIN keys b ON a.k = b.k WHERE a.k < ($subquery)")
          .collect(): Unit
      )
      assert(grown("leftToSpark") == 1 && grown("filtersUsed") == 1 && grown("rowsRemoved") > 0, grown)
    }
  }

  test("failures of rules are counted, and time is not lost") {
    conf(SpringbokConf.FAIL_IN.key -> "ChooseJoinStrategy") {
      val grown = growth(spark.sql(query).collect(): Unit)
      assert(grown("failures") >= 1 && grown("ruleTimeMs") >= 0, grown)
    }
  }
}

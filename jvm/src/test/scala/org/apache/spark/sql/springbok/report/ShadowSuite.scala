package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.springbok.{Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.conf.{ReportConf, SpringbokConf}
import org.apache.spark.sql.springbok.record.PlanningState
import org.apache.spark.sql.springbok.report.model.QueryReport

class ShadowSuite extends SpringbokTest {
  private val sql = "SELECT k.g, count(*) FROM facts f JOIN keys k ON f.k = k.k WHERE k.g < 5 GROUP BY k.g"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("facts", "SELECT id % 5000 AS k, id AS v FROM range(100000)")
    table("keys", "SELECT id AS k, id % 50 AS g FROM range(5000)")
  }

  private def shadow[T](body: => T): T = conf((SpringbokConf.SHADOW.key -> "true") +: shuffled: _*)(body)
  private def last: Option[QueryReport] = LastReports.last(spark, 1).headOption.map(ReportJson.read)
  private def shape(df: DataFrame): String = executed(df).toString.replaceAll("#\\d+|plan_id=\\d+", "")

  test("Spark's plan runs, and the report shows Springbok's", Smoke) {
    val (plain, answer) = conf(shuffled: _*)(off {
      val df = spark.sql(sql)
      val rows = sorted(df.collect())
      (shape(df), rows)
    })
    shadow {
      val df = spark.sql(sql)
      assert(sorted(df.collect()) == answer)
      assert(shape(df) == plain && PlanningState.of(execution(df).optimizedPlan).isEmpty)
      val r = last.get
      assert(r.state == "shadow" && r.joins.size == 1 && r.filters.exists(_.status == "placed"), r)
      assert(r.note.exists(_.contains("Springbok expects to save about")) && r.query.sql.contains(sql))
      assert(r.execution.exists(_.action == "collect"))
      assert(SpringbokReport.of(execution(df)).note.exists(_.contains("spark.springbok.shadow")))
    }
    conf(shuffled: _*) {
      assert(used(same(sql)).nonEmpty)
      assert(last.exists(_.state == "executed"))
    }
  }

  test("a write is planned again and not run again") {
    shadow {
      spark.sql(s"CREATE TABLE written USING parquet AS $sql"): Unit
      assert(last.exists(_.state == "shadow"))
      spark.sql(s"INSERT INTO written $sql"): Unit
      assert(last.exists(r => r.state == "shadow" && r.sink.nonEmpty), last.map(_.sink))
      assert(spark.table("written").count() == 10)
    }
    spark.sql("DROP TABLE written")
  }

  test("no report of a query without a join, without reports, or where Springbok is off") {
    shadow {
      spark.sql(sql).collect(): Unit
      val before = last
      spark.sql("SELECT count(*) FROM facts").collect(): Unit
      assert(last == before)
      off {
        spark.sql(sql).collect(): Unit
        assert(last == before)
      }
      conf(ReportConf.RETAINED.key -> "0") {
        spark.sql(sql).collect(): Unit
        assert(last == before)
      }
    }
  }
}

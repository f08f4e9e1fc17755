package org.apache.spark.sql.springbok.rules.guard

import java.nio.file.{Files, Path}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.springbok.{Slow, Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.catalyst.Fingerprint
import org.apache.spark.sql.springbok.conf.{GuardConf, SpringbokConf}
import org.apache.spark.sql.springbok.record.PlanningState
import org.apache.spark.sql.springbok.report.{LastReports, ReportJson}
import org.scalatest.Assertion

class LeaveGuardedSuite extends SpringbokTest {
  private val join = "SELECT k.g, count(*) FROM facts f JOIN keys k ON f.k = k.k WHERE k.g < 5 GROUP BY k.g"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("facts", "SELECT id % 5000 AS k, id AS v FROM range(100000)")
    table("keys", "SELECT id AS k, id % 50 AS g FROM range(5000)")
  }

  private def shape(df: DataFrame): String =
    executed(df).toString.replaceAll("#\\d+|plan_id=\\d+|DataFilters.*", "")

  /** Rows and plan of Spark alone. */
  private def alone(sql: String): (Seq[String], String) = off {
    val df = spark.sql(sql)
    (sorted(df.collect()).map(_.toString), shape(df))
  }

  /** Runs a query that Spark has to plan alone, for this reason. */
  private def left(code: String, sql: String, bare: String): Assertion = {
    val df = spark.sql(sql)
    val rows = sorted(df.collect()).map(_.toString)
    assert((rows, shape(df)) == alone(bare), executed(df))
    assert(PlanningState.of(execution(df).optimizedPlan).flatMap(_.leftToSpark).map(_.code).contains(code))
    assert(LastReports.last(spark, 1).map(ReportJson.read).head.joins.forall(_.reason.exists(_.code == code)))
  }

  private def fingerprint(sql: String): String = Fingerprint.of(execution(spark.sql(sql)).analyzed)

  test("the hint SPRINGBOK_OFF leaves the whole statement to Spark", Smoke, Slow) {
    conf(shuffled: _*) {
      assert(used(same(join)).nonEmpty)
      left("HINTED_OFF", join.replace("SELECT", "SELECT /*+ SPRINGBOK_OFF */"), join)
      val nested =
        s"SELECT count(*) FROM ($join) WHERE g < (SELECT max(k.g) FROM keys k JOIN facts f ON f.v = k.k)"
      left("HINTED_OFF", nested.replaceFirst("SELECT", "SELECT /*+ SPRINGBOK_OFF */"), nested)
      left("HINTED_OFF", nested.replace("SELECT k.g", "SELECT /*+ springbok_off */ k.g"), nested)
      val in =
        "SELECT count(*) FROM facts WHERE k IN (SELECT k.k FROM keys k JOIN facts f ON f.v = k.k WHERE k.g = 1)"
      left("HINTED_OFF", in.replaceFirst("SELECT", "SELECT /*+ SPRINGBOK_OFF */"), in)
      val cte = s"WITH c AS ($join) SELECT /*+ SPRINGBOK_OFF */ * FROM c JOIN c d ON c.g = d.g + 1"
      left("HINTED_OFF", cte, cte.replace("/*+ SPRINGBOK_OFF */", ""))
      // Neither the relations nor the next query remember it.
      assert(used(same(join)).nonEmpty)
    }
  }

  test("the hint serves a DataFrame and a write") {
    conf(shuffled: _*) {
      val df = spark.sql(join).hint("SPRINGBOK_OFF")
      df.collect(): Unit
      assert(used(df).isEmpty && shape(df) == alone(join)._2)
      spark.sql(s"CREATE TABLE guarded USING parquet AS SELECT /*+ SPRINGBOK_OFF */ * FROM ($join)"): Unit
      assert(LastReports.last(spark, 1).map(ReportJson.read).head.note.exists(_.contains("SPRINGBOK_OFF")))
      assert(spark.table("guarded").count() == 5)
    }
    spark.sql("DROP TABLE guarded")
  }

  test("a fingerprint leaves out literals and names, and nothing else") {
    val id = fingerprint(join)
    assert(id.matches("[0-9a-f]{16}") && id == fingerprint(join))
    assert(id == fingerprint(join.replace("g < 5", "g < 17").replace("k.", "x.").replace("keys k", "keys x")))
    assert(id == fingerprint(join.replace("count(*)", "count(*) AS n")))
    for (other <- Seq("g < 5" -> "g > 5", "count(*)" -> "sum(v)", "JOIN" -> "LEFT JOIN", "keys" -> "facts"))
      assert(
        id != fingerprint(
          join.replace(other._1, other._2).replace("k.g", if (other._2 == "facts") "k.v" else "k.g")
        )
      )
    def in(list: String) = fingerprint(s"SELECT count(*) FROM facts WHERE k IN ($list)")
    assert(in("1, 2") == in("3, 4, 5"))
    def cte(n: Int) =
      fingerprint(s"WITH c AS (SELECT k + $n, g FROM keys) SELECT count(*) FROM c JOIN c d ON c.g = d.g")
    assert(cte(1) == cte(2))
    def sub(t: String) = fingerprint(s"SELECT count(*) FROM facts WHERE k > (SELECT max(k) FROM $t)")
    assert(sub("keys") != sub("facts"))
    def exists(not: String) =
      fingerprint(
        s"SELECT * FROM facts WHERE k IN (SELECT k FROM keys) AND $not EXISTS (SELECT 1 FROM keys WHERE g = v)"
      )
    assert(exists("") == exists("") && exists("") != exists("NOT"))
    def order(by: String) =
      fingerprint(s"SELECT sum(v) OVER (PARTITION BY k ORDER BY v) FROM facts ORDER BY $by")
    assert(order("k") == order("k") && order("k") != order("k DESC"))
    // A DataFrame's report has the fingerprint of the query that an action runs.
    spark.sql(join).collect(): Unit
    assert(LastReports.last(spark, 1).map(ReportJson.read).head.query.fingerprint.contains(id))
  }

  test("listed queries are left to Spark, by a setting and by a file that is read again", Smoke, Slow) {
    val other = join.replace("g < 5", "g < 7")
    val file = Files.createTempFile("excluded", ".txt")
    conf(shuffled: _*) {
      conf(GuardConf.EXCLUDE.key -> s"0123456789abcdef,${fingerprint(join)}") {
        left("EXCLUDED", join, join)
        left("EXCLUDED", other, other)
        assert(used(same(join.replace("count(*)", "sum(v)"))).nonEmpty)
      }
      conf(GuardConf.EXCLUDE_FILE.key -> write(file, s"# slow since May\n${fingerprint(join)}  # nightly\n"))(
        left("EXCLUDED", join, join)
      )
      conf(GuardConf.EXCLUDE_FILE.key -> file.resolveSibling("missing").toString) {
        assert(used(same(join)).nonEmpty)
      }
    }
    intercept[IllegalArgumentException](spark.conf.set(GuardConf.EXCLUDE.key, "q7")): Unit
  }

  private def write(file: Path, text: String): String = Files.writeString(file, text).toString

  test("a share of the runs is the control group") {
    conf(shuffled :+ (GuardConf.CONTROL.key -> "1"): _*)(left("CONTROL_GROUP", join, join))
    conf(shuffled :+ (GuardConf.CONTROL.key -> "0"): _*)(assert(used(same(join)).nonEmpty))
  }

  test("runs that are slower than the control group by more than noise are left to Spark") {
    val even = RunTimes(Seq(1000, 1010, 1020, 1030, 1040), Seq(1005, 1000, 1015, 1025, 1050))
    assert(!even.slower && !RunTimes(even.planned.map(_ * 2), even.control.take(4)).slower)
    assert(RunTimes(even.planned.map(_ * 2), even.control).slower)
    assert(!RunTimes(even.control, even.planned.map(_ * 2)).slower)
    assert(!RunTimes(Seq(90, 91, 92, 93, 94), Seq(10, 11, 12, 13, 14)).slower, "a loss below 100 ms")
    assert(!RunTimes(Seq(500, 2000, 2000, 500, 500), Seq(1000, 600, 1000, 600, 1000)).slower, "noise")
    val id = fingerprint(join)
    for (_ <- 1 to 5; control <- Seq(true, false)) RunTimes.add(id, control, if (control) 1000 else 2000)
    conf(shuffled: _*)(assert(used(same(join)).nonEmpty))
    conf(shuffled :+ (GuardConf.AUTOMATIC.key -> "true"): _*)(left("GUARDED", join, join))
  }

  test("run times of both groups are kept by fingerprint") {
    val sql = join.replace("count(*)", "max(v)")
    conf(shuffled :+ (GuardConf.AUTOMATIC.key -> "true"): _*) {
      for (share <- Seq("0", "1")) conf(GuardConf.CONTROL.key -> share)(spark.sql(sql).collect())
      LastReports.last(spark, 1): Unit
    }
    val times = RunTimes.of(fingerprint(sql))
    assert(times.planned.size == 1 && times.control.size == 1, times)
  }

  test("nothing is left out where Springbok is off") {
    conf(GuardConf.CONTROL.key -> "1", SpringbokConf.ENABLED.key -> "false") {
      val df = spark.sql(join)
      df.collect(): Unit
      assert(PlanningState.whyExcluded(execution(df).optimizedPlan).isEmpty)
    }
  }
}

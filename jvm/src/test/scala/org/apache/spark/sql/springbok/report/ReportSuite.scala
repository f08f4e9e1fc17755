package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ShuffleExchangeExec}
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.execution.springbok.AppliedRuntimeFilterExec
import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.conf.{ReportConf, SpringbokConf}
import org.apache.spark.sql.springbok.cost.Strategy
import org.apache.spark.sql.springbok.record.PlanningState
import org.apache.spark.sql.springbok.report.page.ReportPage
import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, parse, render}

class ReportSuite extends SpringbokTest {
  implicit private val formats: Formats = DefaultFormats
  private val query = "SELECT k.g, count(*) FROM facts f JOIN keys k ON f.k = k.k WHERE k.g < 5 GROUP BY k.g"
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("facts", "SELECT id % 5000 AS k, id AS v FROM range(100000)")
    table("keys", "SELECT id AS k, id % 50 AS g FROM range(5000)")
  }

  private def report(df: DataFrame): JValue = parse(SpringbokReport.json(execution(df)))
  private def list(v: JValue): Seq[JValue] = v.extract[List[JValue]]
  private def metric(p: SparkPlan, name: String): Long = p.metrics(name).value

  for ((name, conf) <- Seq("shuffled" -> shuffled, "broadcast" -> Nil))
    test(s"observed counts are Spark's own SQL metrics, $name") {
      this.conf(conf: _*) {
        val df = spark.sql(query)
        df.collect()
        val r = report(df)
        val plans = collectWithSubqueries(executed(df)) { case p => p }
        val nodes = list(r \ "fragments").flatMap(f => list(f \ "nodes"))
        // Every operator that counts its rows is there with its count.
        val counted = (ps: Seq[SparkPlan]) => ps.map(p => p.nodeName -> metric(p, "numOutputRows")).sorted
        val expected = counted(plans.filter {
          case _: ShuffleExchangeExec | _: BroadcastExchangeExec => false
          case p => p.nodeName != "ColumnarToRow" && p.metrics.contains("numOutputRows")
        })
        val found = nodes
          .filter(n => (n \ "rows") != JNothing)
          .map(n => (n \ "operator").extract[String] -> (n \ "rows").extract[Long])
        assert(found.sorted == expected)
        val shuffles = plans.collect { case s: ShuffleExchangeExec => s }
        val broadcasts = plans.collect { case b: BroadcastExchangeExec => b }
        val sent = shuffles.map(s => metric(s, "shuffleRecordsWritten") -> metric(s, "dataSize")) ++
          broadcasts.map(b => metric(b, "numOutputRows") -> metric(b, "dataSize"))
        val exchanges = list(r \ "fragments").map(_ \ "exchange").filter(_ != JNothing)
        assert(
          exchanges.map(e => (e \ "rows").extract[Long] -> (e \ "bytes").extract[Long]).sorted == sent.sorted
        )
        val join = plans.collectFirst { case j: BaseJoinExec => j }.get
        assert((list(r \ "joins").head \ "output_rows").extract[Long] == metric(join, "numOutputRows"))
        plans.collect { case f: AppliedRuntimeFilterExec if f.predicate.isDefined => f }.foreach { f =>
          val entry = list(r \ "filters").find(x => (x \ "id") == JString(f.filter.id)).get
          val in = (entry \ "rows_in").extract[Long]
          assert(in - (entry \ "rows_removed").extract[Long] == metric(f, "numOutputRows"))
        }
        val read = plans.collect { case s: FileSourceScanExec => metric(s, "numOutputRows") }
        assert(list(r \ "tables").map(t => (t \ "rows_read").extract[Long]).sorted == read.sorted)
      }
    }

  test("a fragment stands before those that read it, and what is reused is there once") {
    conf(shuffled: _*) {
      val df = spark.sql(s"SELECT * FROM ($query) a JOIN ($query) b ON a.g = b.g")
      df.collect()
      val fragments = list(report(df) \ "fragments")
      fragments.foreach { f =>
        assert((f \ "inputs").extract[List[Int]].forall(_ < (f \ "id").extract[Int]))
      }
      assert(fragments.count(f => (f \ "kind") == JString("result")) == 1)
      assert(fragments.exists(f => (f \ "exchange" \ "to").extractOrElse[List[Int]](Nil).nonEmpty))
    }
  }

  test("before it ran there are estimates and nothing observed") {
    val r = report(spark.sql(query))
    assert((r \ "state") == JString("planned"))
    assert((r \\ "output_rows").children.isEmpty && (r \\ "rows_read").children.isEmpty)
    assert((list(r \ "joins").head \ "estimated_rows").extract[Double] > 0)
  }

  test("a hint is reported as honoured or not") {
    val merge = report(spark.sql(query.replace("SELECT k.g", "SELECT /*+ MERGE(k) */ k.g")))
    assert((list(merge \ "joins").head \ "hint_honoured") == JBool(true))
    val left = "SELECT /*+ BROADCAST(f) */ * FROM facts f LEFT JOIN keys k ON f.k = k.k"
    assert((list(report(spark.sql(left)) \ "joins").head \ "hint_honoured") == JBool(false))
  }

  test("what Spark alone would have planned is reported, and Impala's own costs") {
    for (settings <- Seq(Nil, Seq(noSparkBroadcast))) conf(settings: _*) {
      val df = spark.sql(query)
      val alone = off(execution(spark.sql(query)).sparkPlan).collectFirst { case j: BaseJoinExec => j }.get
      val join = list(report(df) \ "joins").head
      assert((join \ "spark_strategy") == JString(Strategy.label(Strategy.of(alone))))
      val impala = list(join \ "alternatives").filter(a => (a \ "impala_cost_bytes") != JNothing)
      assert(
        impala.map(a => (a \ "strategy").extract[String]).toSet.map((_: String).takeWhile(_ != ',')) == Set(
          "broadcast hash",
          "shuffled hash"
        )
      )
      assert(impala.size == 4)
    }
  }

  test("what count(), show() and others run is kept as text, a bounded number of times") {
    conf(ReportConf.RETAINED.key -> "3") {
      val df = spark.sql(query.replace("5", "7"))
      assert(LastReports.of(execution(df)) == null)
      df.count(): Unit
      val counted = parse(LastReports.of(execution(df)))
      assert(
        (counted \ "execution" \ "action") == JString("count") && (counted \ "state") == JString("executed")
      )
      assert(report(df) \ "state" == JString("planned"))
      (1 to 4).foreach(_ => df.collect())
      assert(LastReports.last(spark, 10).size == 3)
      assert(
        LastReports
          .last(spark, 2)
          .map(parse(_) \ "execution" \ "action")
          .forall(_ == JString("collect"))
      )
      assert(LastReports.last(spark.newSession(), 10).isEmpty)
    }
    conf(ReportConf.RETAINED.key -> "0") {
      val df = spark.sql(query.replace("5", "6"))
      df.count(): Unit
      assert(LastReports.of(execution(df)) == null)
    }
  }

  test("reports hold up no other listeners: they have a queue of their own") {
    spark.sql("SELECT 1").collect(): Unit
    assert(spark.sparkContext.listenerBus.metrics.metricRegistry.getNames.contains("queue.springbok.size"))
  }

  test("a report is read as it was written") {
    for (run <- Seq(false, true)) {
      val df = spark.sql(query)
      if (run) df.collect(): Unit
      val written = SpringbokReport.json(execution(df))
      val read = ReportJson.read(written)
      assert(parse(ReportJson.write(read)) == parse(written))
      // Numbers in options and sequences are what their types say, although the JVM erases them.
      assert(
        read.fragments.flatMap(_.inputs).forall(_ >= 0L) && read.joins.flatMap(_.fragment).forall(_ >= 0L)
      )
      assert(read.joins.flatMap(_.left.rows).forall(_ > 0.5) && read.strategies.values.sum == 1L)
    }
  }

  test("a report that an earlier version has written lacks lists, and can be read") {
    val whole = parse(SpringbokReport.json(execution(spark.sql(query))))
    val fields = Set("output", "predicate_sources", "pushed_filters", "runtime_filters", "aggregate", "scope")
    val earlier = ReportJson.read(compact(render(whole.removeField { case (name, _) => fields(name) })))
    assert(earlier.output.isEmpty && earlier.tables.forall(_.pushedFilters.isEmpty) && earlier.sink.isEmpty)
    assert(ReportPage.page(earlier).contains("facts"))
  }

  test("the log's line has numbers and no names") {
    val df = spark.sql(query)
    df.collect()
    val run = LastReports.execution(execution(df)).get
    val counts = QueryCounts.of(PlanningState.of(execution(df).optimizedPlan).get, executed(df))
    val line = LastReports.line(run, counts, execution(df))
    assert(
      line.matches(
        s"query ${run.id} of ${spark.sparkContext.applicationId}, fingerprint [0-9a-f]{16}, SELECT, started ${run.startMs}, \\d+ ms: " +
          "planned \\d of 1 joins, used \\d+ of \\d+ filters, which removed \\d+ rows"
      ),
      line
    )
  }

  test("a query planned anew leaves its session and its own plan as they are") {
    val df = spark.sql(query)
    val off = WhatIf.dataset(execution(df), enabled = false)
    assert(PlanningState.of(off.queryExecution.optimizedPlan).isEmpty)
    assert(
      PlanningState.of(WhatIf.dataset(execution(df), enabled = true).queryExecution.optimizedPlan).isDefined
    )
    assert(
      spark.conf
        .get(SpringbokConf.ENABLED.key) == "true" && PlanningState.of(execution(df).optimizedPlan).isDefined
    )
    assert(sorted(off.collect()) == sorted(df.collect()))
  }

  // The report of such a query once failed.
  test(
    "an exchange directly above another one is a fragment of its own, as a scan that is repartitioned and then shuffled"
  ) {
    conf(shuffled: _*) {
      val df = spark.sql(
        "SELECT k.g, count(*) FROM (SELECT /*+ REPARTITION(3) */ * FROM facts) f JOIN keys k ON f.k = k.k GROUP BY k.g"
      )
      df.collect(): Unit
      val fragments = list(report(df) \ "fragments")
      val sends = fragments.filter(f =>
        list(f \ "nodes").map(n => (n \ "operator").extract[String]) == List("Exchange")
      )
      assert(sends.size == 1 && list(sends.head \ "inputs").size == 1, fragments)
      assert((sends.head \ "exchange" \ "rows").extract[Long] == 100000)
    }
  }
}

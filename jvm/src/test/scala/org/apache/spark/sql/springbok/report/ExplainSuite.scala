package org.apache.spark.sql.springbok.report

import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._

import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{FormattedMode, SimpleMode, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{Cost, CostEvaluator}
import org.apache.spark.sql.execution.ui.{
  SparkListenerSQLAdaptiveExecutionUpdate,
  SparkListenerSQLExecutionStart
}
import org.apache.spark.sql.springbok.{SparkFeatures, SpringbokTest}
import org.apache.spark.sql.springbok.conf.{ConjunctConf, FilterConf, ReorderConf}
import org.apache.spark.sql.springbok.cost.Strategy
import org.apache.spark.sql.springbok.record.JoinState

class ExplainSuite extends SpringbokTest {
  private val query = "SELECT k.g, count(*) FROM facts f JOIN keys k ON f.k = k.k WHERE k.g < 5 GROUP BY k.g"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("facts", "SELECT id % 5000 AS k, id AS v FROM range(100000)")
    table("keys", "SELECT id AS k, id % 50 AS g, concat('name ', id) AS n FROM range(5000)")
  }

  private def section(df: DataFrame): String =
    new SpringbokExplain().generateExtendedInfo(executed(df))
  private def lines(df: DataFrame, start: String): Seq[String] =
    section(df).linesIterator.filter(_.startsWith(start)).toSeq

  test("a join has its strategy, its distribution, and the reason with the cost of the next strategy") {
    conf(shuffled: _*) {
      val Seq(join) = lines(spark.sql(query), "join"): @unchecked
      assert(join.startsWith("join 0 INNER k = k: "), join)
      assert(join.contains(", partitioned") && join.contains("LOWEST_COST"), join)
      val Seq(costs) = join.linesIterator.filter(_.contains("costs")).toSeq: @unchecked
      assert(costs.split(" [KMG]?B").length > 2, costs)
    }
    val Seq(join) = lines(spark.sql(query), "join"): @unchecked
    // A broadcast says itself how its rows are spread.
    assert(
      join.startsWith("join 0 INNER k = k: broadcast hash, build right, ") && !join.contains(", broadcast,")
    )
    assert(join.contains("of each executor"), join)
  }

  test("colocated joins and bucket shuffles are told apart") {
    for (n <- Seq("a", "b"))
      spark.range(20000).write.bucketBy(4, "id").saveAsTable(s"bucketed_$n")
    conf(shuffled: _*) {
      val both = "SELECT count(*) FROM bucketed_a a JOIN bucketed_b b ON a.id = b.id"
      assert(lines(spark.sql(both), "join").head.contains(", colocate"), section(spark.sql(both)))
      val one = "SELECT count(*) FROM bucketed_a a JOIN facts f ON a.id = f.k"
      assert(lines(spark.sql(one), "join").head.contains(", bucket shuffle"), section(spark.sql(one)))
    }
  }

  test("filters have their final state, and strategies are those of the plan that ran") {
    conf(shuffled: _*) {
      val df = spark.sql(query)
      val Seq(before) = lines(df, "filter"): @unchecked
      assert(before.startsWith("filter RF000 facts.k <- k of join 0: placed, expected to retain "), before)
      df.collect(): Unit
      val Seq(after) = lines(df, "filter"): @unchecked
      assert(after.startsWith("filter RF000 facts.k <- k of join 0: used, removed "), after)
      assert(lines(df, "join").head.contains(Strategy.of(joins(df).head).name))
    }
  }

  // The costs of a re-planning that adaptive execution had rejected were once shown for the plan that it had kept.
  test("what a rejected re-planning decided is not shown") {
    // The condition leaves far fewer rows than can be known, so the other side is built once they are counted.
    val sql =
      "SELECT f.v, k.n FROM facts f JOIN keys k ON f.k = k.k WHERE cast(f.v AS STRING) LIKE '%9%7%7%1'"
    def both(df: DataFrame) =
      (record(df).joins.head.planned.get.choice, record(df).joins.head.latest.get.choice)
    conf(shuffled :+ ("spark.sql.adaptive.customCostEvaluatorClass" -> classOf[RejectAll].getName): _*) {
      val df = spark.sql(sql)
      df.collect(): Unit
      val (planned, latest) = both(df)
      assert(latest.chosen != planned.chosen && Strategy.of(joins(df).head) == planned.chosen, executed(df))
      val Seq(join) = lines(df, "join"): @unchecked
      assert(
        join.contains(s": ${Strategy.label(planned.chosen)}, ") && join.contains(planned.reason.text),
        join
      )
      assert(!join.contains(latest.reason.text) && !join.contains("changed at run time"), join)
    }
    conf(shuffled: _*) {
      val df = spark.sql(sql)
      df.collect(): Unit
      val (planned, latest) = both(df)
      assert(latest.chosen != planned.chosen && Strategy.of(joins(df).head) == latest.chosen, executed(df))
      val Seq(join) = lines(df, "join"): @unchecked
      // Once the last stage has finished, the join may be planned again as it is: then the plan keeps the decision before.
      val kept = joins(df).flatMap(JoinState.decision).head.choice
      assert(kept.reason != planned.reason, kept.reason)
      assert(Seq(kept, latest).exists(c => join.contains(c.reason.text)), join)
      assert(join.contains(s"changed at run time from ${Strategy.label(planned.chosen)}"), join)
    }
  }

  test("hints that were ignored, and hints that contradict each other") {
    val ignored = "SELECT /*+ BROADCAST(f) */ * FROM facts f LEFT JOIN keys k ON f.k = k.k"
    assert(section(spark.sql(ignored)).contains("  HINT_IGNORED: "), section(spark.sql(ignored)))
    val both = "SELECT /*+ BROADCAST(k), MERGE(f) */ * FROM facts f JOIN keys k ON f.k = k.k"
    assert(section(spark.sql(both)).contains("  HINT_IGNORED: "), section(spark.sql(both)))
  }

  test("tables and columns without statistics, and memory") {
    val csv = folder.resolve("csv").toString
    spark.range(100).selectExpr("id AS k", "id % 2 AS g").write.csv(csv)
    spark.read
      .schema("k BIGINT, g BIGINT")
      .option("multiLine", true)
      .csv(csv)
      .createOrReplaceTempView("uncounted")
    val text = section(spark.sql("SELECT count(*) FROM facts f JOIN uncounted u ON f.k = u.k"))
    assert(text.contains("table csv: unknown rows") && !text.contains("ANALYZE"), text)
    assert(section(spark.sql(query)).contains("memory: the joins may take "), section(spark.sql(query)))
  }

  test("orders of conjuncts and joins, where they were changed") {
    val sql = "SELECT * FROM keys a JOIN keys b ON a.k = b.k WHERE a.n LIKE '%e%7%' AND a.g = 49"
    assert(lines(spark.sql(sql), "conjuncts of filter: ").head.contains(" ns a row instead of "))
    conf(
      ReorderConf.ENABLED.key -> "true",
      ReorderConf.MIN_GAIN_MS.key -> "0",
      FilterConf.MODE.key -> "OFF"
    ) {
      val three =
        "SELECT count(*) FROM facts f JOIN facts h ON f.k = h.k JOIN keys k ON f.k = k.k WHERE k.n = 'name 7'"
      val df = spark.sql(three)
      assert(record(df).decisions.orders.exists(_.after.isDefined), record(df).decisions.orders)
      assert(lines(df, "join order: ").head.contains(" instead of "))
    }
    conf(ConjunctConf.ENABLED.key -> "false")(assert(lines(spark.sql(sql), "conjuncts").isEmpty))
  }

  test("commands and plans without adaptive execution have the section, queries without a join have none") {
    val ctas = spark.sql(s"EXPLAIN CREATE TABLE explained USING parquet AS $query").head().getString(0)
    assert(ctas.contains("join 0 INNER") == SparkFeatures.explainSections || ctas.contains("Execute"), ctas)
    conf("spark.sql.adaptive.enabled" -> "false")(assert(lines(spark.sql(query), "join").size == 1))
    assert(section(spark.sql("SELECT 1")).isEmpty && section(off(spark.sql("SELECT * FROM keys"))).isEmpty)
  }

  test("all modes show the section, and what fails in it fails neither EXPLAIN nor the query") {
    val df = spark.sql(query)
    for (mode <- Seq(SimpleMode, FormattedMode)) {
      val text = execution(df).explainString(mode)
      assert(text.contains("join 0 INNER") == SparkFeatures.explainSections, text)
    }
    assert(new SpringbokExplain().generateExtendedInfo(null).startsWith("no information: "))
  }

  // Spark describes the plan for its listeners before a query starts and after each stage, and the query waits for that.
  test(
    "of the texts of a query for Spark's listeners, only the last has the section, and a user's EXPLAIN has it too"
  ) {
    val texts = new ConcurrentLinkedQueue[String]
    val listener = new SparkListener {
      override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
        case e: SparkListenerSQLExecutionStart => texts.add(e.physicalPlanDescription): Unit
        case e: SparkListenerSQLAdaptiveExecutionUpdate => texts.add(e.physicalPlanDescription): Unit
        case _ =>
      }
    }
    def posted(run: => Any): Seq[Boolean] = {
      texts.clear()
      run: Unit
      spark.sparkContext.listenerBus.waitUntilEmpty()
      texts.asScala.toSeq.map(_.contains("join 0 INNER"))
    }
    spark.sparkContext.addSparkListener(listener)
    try
      conf(shuffled: _*) {
        val df = spark.sql(query)
        assert(lines(df, "join").size == 1)
        val first = posted(df.collect())
        if (SparkFeatures.explainSections) {
          assert(first.size > 2 && first.count(identity) == 1 && first.last)
          assert(texts.asScala.last.contains("filter RF000 facts.k <- k of join 0: used, removed "))
          assert(texts.asScala.head.contains("The query has not finished."))
          // Spark does not tell when a later run of the same plan has finished.
          assert(posted(df.collect()).forall(identity))
          val write = posted(spark.sql(query).write.parquet(folder.resolve("written").toString))
          assert(write.count(identity) == 1 && write.last)
          val explain = spark.sql(s"EXPLAIN $query")
          assert(explain.head().getString(0).contains("join 0 INNER"))
        }
        assert(posted(spark.sql("SELECT * FROM keys").collect()).count(identity) == 0)
        assert(!texts.asScala.exists(_.contains("has not finished")))
      }
    finally spark.sparkContext.removeSparkListener(listener)
  }
}

/** Never adopts a plan that was planned anew. */
class RejectAll extends CostEvaluator {
  private val asked = new AtomicLong
  override def evaluateCost(plan: SparkPlan): Cost = Asked(asked.incrementAndGet())

  private case class Asked(times: Long) extends Cost {
    override def compare(that: Cost): Int = that match {
      case Asked(others) => times.compare(others)
      case _ => 1
    }
  }
}

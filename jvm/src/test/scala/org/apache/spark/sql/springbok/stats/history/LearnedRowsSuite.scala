package org.apache.spark.sql.springbok.stats.history

import java.nio.file.Files

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, Join, LogicalPlan}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec
import org.apache.spark.sql.springbok.Smoke
import org.apache.spark.sql.springbok.catalyst.SparkPlanning
import org.apache.spark.sql.springbok.conf.{FilterConf, HistoryConf, JoinConf, PlanningConf, StatsConf}
import org.apache.spark.sql.springbok.cost.Strategy
import org.apache.spark.sql.springbok.report.ReportJson
import org.apache.spark.sql.springbok.report.page.ReportPage
import org.apache.spark.sql.springbok.stats.estimate.{Estimate, Source}
import org.apache.spark.sql.springbok.stats.operator.PlanStats
import org.scalatest.Assertion

/** What queries learn from queries that have ended. */
class LearnedRowsSuite extends HistoryTest {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    // Half of all orders are of customer 7, and the region follows from the customer.
    // Several files: both halves of an aggregate have other rows.
    files(
      "orders",
      3,
      """SELECT id AS o, CASE WHEN id % 2 = 0 THEN 7 ELSE id % 1000 END AS customer, id % 50 AS product,
        |concat('comment ', id % 97, ' of ', id) AS remark FROM range(40000)""".stripMargin
    )
    table("customers", "SELECT id AS c, id % 10 AS region, concat('name ', id) AS name FROM range(1000)")
    table("products", "SELECT id AS p, id % 5 AS kind FROM range(50)")
  }

  private def files(name: String, n: Int, sql: String): Unit = {
    val path = folder.resolve(name).toString
    spark.sql(sql).repartition(n).write.parquet(path)
    spark.read.parquet(path).createOrReplaceTempView(name)
  }

  private val star =
    """SELECT region, kind, count(*) FROM orders JOIN customers ON customer = c JOIN products ON product = p
      |WHERE name LIKE 'name 7%' AND kind < 3 GROUP BY region, kind""".stripMargin

  private val correlated =
    "SELECT count(*), max(remark) FROM orders JOIN customers ON customer = c WHERE remark LIKE '%comment 5 of%' AND o % 3 = 0"

  private val noSamples = StatsConf.DICTIONARIES_ENABLED.key -> "false"

  private def aggregate: PartialFunction[LogicalPlan, LogicalPlan] = { case a: Aggregate => a }
  private def filter: PartialFunction[LogicalPlan, LogicalPlan] = { case f: Filter => f }

  private def exact(df: DataFrame, operators: String*): Assertion = {
    val learned = fromHistory(df)
    for (o <- operators) assert(learned.exists(_._1.contains(o)), s"$o in $learned")
    assert(learned.forall(_._2 == 1), learned)
  }

  test("the second run of a star join is planned with the rows of the first", Smoke) {
    conf(noFilters) {
      val first = learned(star)
      assert(fromHistory(first).isEmpty && joinErrors(first).exists(_ > 1))
      val second = learned(star)
      assert(joinErrors(second).forall(_ == 1), joinErrors(second))
      exact(second, "Join", "Aggregate")
    }
    // What a runtime filter of a join above will remove is estimated anew.
    val filtered = learned(star)
    assert(used(filtered).nonEmpty && joinErrors(filtered).forall(_ < 1.01), joinErrors(filtered))
  }

  test("a part of another query is known as well") {
    conf(noFilters) {
      learned(star): Unit
      val other = learned(
        "SELECT sum(o) FROM orders JOIN customers ON customer = c JOIN products ON product = p WHERE name LIKE 'name 7%' AND kind < 3"
      )
      assert(joinErrors(other).forall(_ == 1))
    }
  }

  test("a condition on correlated or skewed columns is known after one run") {
    val sql = "SELECT count(*) FROM orders JOIN customers ON customer = c WHERE customer = 7 AND o % 2 = 0"
    learned(sql): Unit
    val second = learned(sql)
    exact(second, "Filter")
    assert(joinErrors(second).forall(_ == 1))
  }

  test("groups and HAVING are known after one run") {
    val sql =
      """SELECT x.customer, name FROM (SELECT customer FROM orders GROUP BY customer HAVING count(*) > 100) x
        |JOIN customers ON customer = c""".stripMargin
    learned(sql): Unit
    val second = learned(sql)
    exact(second, "Filter", "Aggregate", "Join")
    assert(joinErrors(second).forall(_ == 1))
  }

  test("a plan without joins teaches queries with joins") {
    // Joins need no rows whose key is null, and this is part of what is learned.
    learned("SELECT customer, max(o) FROM orders WHERE customer IS NOT NULL GROUP BY customer"): Unit
    val e = estimate(
      "SELECT * FROM (SELECT customer, min(o) FROM orders GROUP BY customer) JOIN customers ON customer = c"
    )(
      aggregate
    )
    assert(isLearned(e))
  }

  test("a join builds the other side where the history knows which one is smaller") {
    conf(noFilters, noSparkBroadcast, noSamples) {
      val sql =
        """SELECT count(*), max(x.remark) FROM (SELECT * FROM orders WHERE remark LIKE '%5 of 1%5') x
          |JOIN (SELECT * FROM orders WHERE o % 10 < 6) y ON x.o = y.o""".stripMargin
      val plans = Seq.fill(2)(learned(sql)).map(df => record(df).joins.head.planned.get)
      val (first, second) = (plans.head.input.get, plans(1).input.get)
      assert(plans.map(p => Strategy.build(p.choice.chosen)) == Seq(Some(BuildRight), Some(BuildLeft)))
      assert(plans(1).leftSource.exists(_.isInstanceOf[Source.History]))
      // What is possible stays what it was.
      assert(first.left.size.boundRows == second.left.size.boundRows)
      assert(first.left.size.boundBytes == second.left.size.boundBytes)
    }
  }

  test("an estimate from the history has the bounds that it has without") {
    learned(star): Unit
    for (p <- optimized(star).collect { case p @ (_: Filter | _: Join | _: Aggregate) => p }) {
      val (with1, without) = (served(p), new PlanStats()(p))
      assert(with1.rows.get.bound >= without.rows.get.bound)
      assert(with1.columns.values.map(_.uniqueness).toSet == without.columns.values.map(_.uniqueness).toSet)
    }
  }

  test("a limit above stops operators, so nothing below is learned but what an exchange has taken") {
    learned("SELECT * FROM orders WHERE o % 3 = 0 LIMIT 5"): Unit
    assert(!isLearned(estimate("SELECT * FROM orders WHERE o % 3 = 0")(filter)))
    spark
      .sql("SELECT customer, count(*) FROM orders WHERE o % 3 = 0 GROUP BY customer LIMIT 5")
      .collect(): Unit
    settle()
    assert(isLearned(estimate("SELECT * FROM orders WHERE o % 3 = 0")(filter)))
    val groups = "SELECT customer, count(*) FROM orders WHERE o % 3 = 0 GROUP BY customer"
    assert(!isLearned(estimate(groups)(aggregate)))
  }

  test("an iterator over the result may be given up") {
    spark.sql("SELECT * FROM orders WHERE o % 3 = 0").toLocalIterator().next(): Unit
    settle()
    assert(!isLearned(estimate("SELECT * FROM orders WHERE o % 3 = 0")(filter)))
  }

  test("the second run of one DataFrame teaches nothing: its exchanges do not run again") {
    val df = spark.sql("SELECT customer, count(*) FROM orders WHERE o % 3 = 0 GROUP BY customer")
    for (_ <- 1 to 2) {
      df.collect(): Unit
      settle()
    }
    val e = estimate("SELECT * FROM orders WHERE o % 3 = 0")(filter)
    assert(e.rows.exists(r => r.value > 10000 && r.source.asInstanceOf[Source.History].runs == 1))
  }

  test("rows that a runtime filter has removed are not missing in what is learned") {
    conf(FilterConf.MODE.key -> "GLOBAL", noBroadcast, noSparkBroadcast) {
      val sql =
        """SELECT count(*) FROM orders JOIN customers ON customer = c WHERE region = 3 AND o % 3 < 2 AND remark > 'a'"""
      val first = learned(sql)
      assert(used(first).nonEmpty)
      val rows =
        spark.sql("SELECT * FROM orders WHERE o % 3 < 2 AND remark > 'a' AND customer IS NOT NULL").count()
      settle()
      val below = optimized(sql).collectFirst { case Join(l, _, _, _, _) => l }.get
      assert(served(below).rows.get.value == rows || !isLearned(served(below)))
      val second = learned(sql)
      assert(joinErrors(second).forall(_ == 1))
      exact(second, "Join")
    }
  }

  test("self joins, outer joins, semi joins and anti joins are known after one run") {
    for {
      sql <- Seq(
        "SELECT count(*) FROM customers x JOIN customers y ON x.c = y.region WHERE x.region > 2",
        "SELECT count(o), count(*) FROM customers LEFT JOIN orders ON customer = c AND o % 7 = 1",
        "SELECT count(o), count(*) FROM customers FULL JOIN (SELECT * FROM orders WHERE o % 7 = 1) ON customer = c",
        "SELECT count(*) FROM customers WHERE c IN (SELECT customer FROM orders WHERE o % 9 = 1)",
        "SELECT count(*) FROM customers WHERE c NOT IN (SELECT customer FROM orders WHERE o % 9 = 1)",
        "SELECT count(*) FROM customers WHERE c = 3 OR EXISTS (SELECT 1 FROM orders WHERE customer = c AND o % 9 = 1)"
      )
    } {
      learned(sql): Unit
      val second = learned(sql)
      assert(joinErrors(second).forall(_ == 1), s"$sql: ${joinErrors(second)}")
      exact(second, "Join")
    }
  }

  test("every strategy of a join tells its rows") {
    for (hint <- Seq("BROADCAST", "SHUFFLE_HASH", "MERGE")) {
      history.clear()
      val sql =
        s"SELECT /*+ $hint(customers) */ count(*) FROM orders JOIN customers ON customer = c WHERE region < 4"
      learned(sql): Unit
      exact(learned(sql), "Join")
    }
  }

  test("the distinct keys of a build side are known after one run, and no bound is made of them") {
    conf(FilterConf.MODE.key -> "GLOBAL", noSparkBroadcast) {
      val few = "SELECT o, customer FROM orders WHERE remark LIKE '%1' AND customer BETWEEN 0 AND 19"
      val sql =
        s"SELECT /*+ MERGE(x) */ count(*), max(y.remark) FROM orders y JOIN ($few) x ON y.customer = x.customer"
      def side: (Estimate, Double) = {
        val plan = optimized(sql).collectFirst { case Join(_, r, _, _, _) => r }.get
        val e = served(plan)
        e -> plan.output.filter(_.name == "customer").map(e.columns(_).remaining).head
      }
      val (before, guessed) = side
      val distinct = spark.sql(few).select("customer").distinct().count()
      history.clear()
      val first = learned(sql)
      assert(used(first).nonEmpty)
      val (after, counted) = side
      assert(counted == distinct && guessed != distinct && isLearned(after))
      assert(after.rows.get.bound >= before.rows.get.bound)
    }
  }

  test("without adaptive execution") {
    conf("spark.sql.adaptive.enabled" -> "false", noFilters) {
      learned(star): Unit
      val second = learned(star)
      assert(joinErrors(second).forall(_ == 1))
    }
  }

  test("a cached table is known while its content stays") {
    val cached = spark.sql("SELECT *, o % 13 AS part FROM orders")
    cached.cache().createOrReplaceTempView("cached_orders")
    cached.count(): Unit
    val relation = optimized("SELECT * FROM cached_orders").collectFirst { case m: InMemoryRelation => m }.get
    assume(SparkPlanning.cachedPlan(relation).isDefined, "this Spark does not remember how a table was made")
    val sql =
      "SELECT count(*) FROM cached_orders JOIN customers ON customer = c WHERE part = 3 AND remark LIKE '%9'"
    learned(sql): Unit
    val second = learned(sql)
    exact(second, "Filter")
    assert(joinErrors(second).forall(_ == 1), report(second).joins)
    cached.unpersist(true): Unit
  }

  test("data that is appended, replaced or deleted lowers what is believed, and is learned anew") {
    val path = folder.resolve("changing").toString
    def write(rows: String, mode: String): Unit = {
      spark.sql(s"SELECT id AS k, concat('t', id) AS t FROM $rows").coalesce(1).write.mode(mode).parquet(path)
      spark.read.parquet(path).createOrReplaceTempView("changing")
    }
    val sql = "SELECT * FROM changing WHERE k % 100 = 0 AND t > 'a'"
    def now: Estimate = estimate(sql)(filter)
    write("range(10000)", "overwrite")
    val blind = now.rows.get.value
    learned(sql): Unit
    assert(now.rows.get.value == 100)
    write("range(10000, 12000)", "append")
    val appended = now.rows.get.value
    assert(isLearned(now) && appended > 115 && appended < math.max(blind, 200))
    learned(sql): Unit
    assert(now.rows.get.value == 120)
    write("range(1, 12001, 2)", "overwrite")
    val replaced = now.rows.get.value
    assert(isLearned(now) && replaced > 60)
    learned(sql): Unit
    assert(now.rows.get.value == 1)
    for (f <- Files.list(folder.resolve("changing")).iterator.asScala.toList) Files.delete(f)
    write("range(10)", "overwrite")
    assert(now.rows.get.value <= 10)
    learned(sql): Unit
  }

  test("conditions of one form teach a selectivity where there is nothing but a guess") {
    conf(noSamples) {
      learned("SELECT * FROM orders WHERE remark LIKE '%comment 5 of%'"): Unit
      val e = estimate("SELECT * FROM orders WHERE remark LIKE '%comment 6 of%'")(filter)
      val rows = spark.sql("SELECT * FROM orders WHERE remark LIKE '%comment 6 of%'").count().toDouble
      assert(isLearned(e) && e.rows.get.value / rows < 1.1 && rows / e.rows.get.value < 1.1)
      // The bound is that of the table.
      assert(e.rows.get.bound == 40000)
    }
    // A column with known values is not guessed.
    learned("SELECT * FROM customers WHERE c < 900"): Unit
    assert(!isLearned(estimate("SELECT * FROM customers WHERE c < 100")(filter)))
  }

  test("a history that is wrong makes no broadcast that would not be made without it, and is corrected") {
    val sql =
      "SELECT count(*), max(x.remark) FROM orders x JOIN (SELECT * FROM orders WHERE o % 2 < 2) y ON x.o = y.o"
    val keys = new PlanKeys(literals = true)
    val side = optimized(sql).collectFirst { case Join(_, r, _, _, _) => r }.get
    val from = side.collectLeaves().flatMap(InputFingerprint.of(_))
    conf(JoinConf.BROADCAST_BYTES_LIMIT.key -> "100000", noSparkBroadcast) {
      for (p <- optimized(sql).collect { case p => p }; key <- keys(p))
        history.learn(key, LearnedRows(10, if (p.collectLeaves().size > 1) from ++ from else from, 1, 1), 100)
      assert(served(side).rows.exists(r => r.value == 10 && r.bound >= 40000))
      val first = learned(sql)
      assert(joins(first).forall(!_.isInstanceOf[BroadcastHashJoinExec]))
      assert(served(side).rows.exists(_.value == 40000))
      val second = learned(sql)
      assert(joinErrors(second).forall(_ == 1))
    }
  }

  test("a history that changes with every run is followed") {
    val path = folder.resolve("flapping").toString
    val sql = "SELECT count(*) FROM flapping JOIN customers ON k = c WHERE t LIKE 'x%'"
    for (i <- 1 to 6) {
      val x = if (i % 2 == 0) "x" else "y"
      spark
        .sql(s"SELECT id % 1000 AS k, concat('$x', id) AS t FROM range(5000)")
        .write
        .mode("overwrite")
        .parquet(path)
      spark.read.parquet(path).createOrReplaceTempView("flapping")
      learned(sql): Unit
      assert(joinErrors(learned(sql)).forall(_ == 1))
    }
  }

  test("the setting switches it off, and bounds the number of entries") {
    conf(HistoryConf.ENABLED.key -> "false")(learned(star)): Unit
    assert(history.size == 0)
    conf(HistoryConf.MAX_ENTRIES.key -> "2")(learned(star)): Unit
    assert(history.size == 2)
    assertThrows[IllegalArgumentException](spark.conf.set(HistoryConf.MAX_ENTRIES.key, "0"))
    assertThrows[IllegalArgumentException](spark.conf.set(HistoryConf.PATH.key, ""))
  }

  test("a history that fails leaves plans and answers as they are") {
    conf("spark.springbok.internal.failIn" -> "History") {
      for (_ <- 1 to 2) assert(fromHistory(learned(star)).isEmpty)
    }
    history.clear()
    conf("spark.springbok.internal.failIn" -> "LearnRows") {
      learned(star): Unit
      assert(history.size == 0)
    }
  }

  test("what one application has learned another one finds in the folder, named or redacted") {
    val plan = optimized("SELECT * FROM orders WHERE o % 3 = 0").collectFirst(filter).get
    for (redact <- Seq(false, true)) {
      val shared = Files.createTempDirectory("history")
      def application = new History(
        Some(new HistoryFolder(new Path(shared.toUri), new Configuration(false), 1 << 20, 100))
      )
      val first = application
      conf(HistoryConf.REDACT.key -> redact.toString) {
        new QueryHistory(first).learn(Observed(Seq(plan -> 13334L)), _ => Some(40000.0), Long.MaxValue)
      }
      first.flush(20000)
      val second = application
      second.flush(20000)
      val stats = new PlanStats(lasting = new PlanStats.Lasting(Some(new QueryHistory(second))))
      assert(stats(plan).rows.exists(r => r.value == 13334 && r.source.isInstanceOf[Source.History]))
      val text = Files
        .list(shared)
        .iterator
        .asScala
        .filter(_.toString.endsWith("jsonl"))
        .map(Files.readString(_))
        .mkString
      assert(text.contains("orders") != redact && text.contains("% 3") != redact, text)
    }
  }

  // The fingerprint of a table that planning had not looked at was once taken when the query had ended, after a write.
  test("nothing is learned of files that may have changed while the query ran") {
    val plan = optimized("SELECT * FROM orders WHERE o % 3 = 0").collectFirst(filter).get
    val h = new History
    def learn(sinceMs: Long): Unit =
      new QueryHistory(h).learn(Observed(Seq(plan -> 13334L)), _ => Some(40000.0), sinceMs)
    learn(sinceMs = 1000)
    assert(h.size == 0)
    learn(sinceMs = System.currentTimeMillis())
    assert(h.size == 1)
  }

  // Spark's regex for texts was once not applied to what other users can read in the folder.
  test("Spark's redaction applies to the labels of a shared history") {
    val plan = optimized("SELECT * FROM orders WHERE o = 4111").collectFirst(filter).get
    val shared = Files.createTempDirectory("history")
    val h =
      new History(Some(new HistoryFolder(new Path(shared.toUri), new Configuration(false), 1 << 20, 100)))
    conf("spark.sql.redaction.string.regex" -> "4111") {
      new QueryHistory(h).learn(Observed(Seq(plan -> 1L)), _ => Some(40000.0), Long.MaxValue)
    }
    h.flush(20000)
    val text = Files.list(shared).iterator.asScala.map(Files.readString(_)).mkString
    assert(text.contains("orders") && !text.contains("4111"), text)
  }

  // Two tables that were joined by a pruned column were once learned with the rows of one month.
  test("rows that partition pruning removed are still missing above another join by the same column") {
    table("sold", "SELECT id AS s, id % 40 AS day FROM range(40000)", partitionBy = Seq("day"))
    table("back", "SELECT id AS r, id % 40 AS day FROM range(400)")
    table("days", "SELECT id AS day, id % 4 AS month FROM range(40)")
    val both = "SELECT s.s, s.day, b.r FROM sold s JOIN back b ON s.day = b.day"
    val pruned = s"SELECT count(*) FROM ($both) x JOIN days d ON x.day = d.day WHERE d.month = 1"
    conf(
      "spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly" -> "false",
      PlanningConf.BUDGET.key -> "0"
    ) {
      learned(pruned): Unit
      assert(!isLearned(estimate(both) { case j: Join => j }))
    }
  }

  test("the report says that rows were learned, from how many runs and when") {
    for (_ <- 1 to 2) learned(correlated): Unit
    val r = report(learned(correlated))
    val side = r.joins.flatMap(j => Seq(j.left, j.right)).find(_.rowsSource == "history").get
    assert(side.history.exists(h => h.runs == 2 && h.lastMs > 1700000000000L))
    val json = ReportJson.write(r)
    assert(json.contains("\"rows_source\":\"history\"") || json.contains("\"rows_source\" : \"history\""))
    assert(ReportPage.html(json, true).contains("history, 2 runs, last on 20"))
    assert(ReportJson.read(json) == r)
  }

  test("a query that has ended is shown with the estimates that it was planned with") {
    val df = learned(star)
    assert(report(df).joins.flatMap(_.qError).exists(_ > 1))
    assert(fromHistory(df).isEmpty)
    assert(planned(df).lasting.history.isDefined)
  }
}

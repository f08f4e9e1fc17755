package org.apache.spark.sql.springbok.stats.history

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.optimizer.BuildLeft
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Generate, LogicalPlan}
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec
import org.apache.spark.sql.springbok.Slow
import org.apache.spark.sql.springbok.conf.{FilterConf, HistoryConf, JoinConf, ReorderConf}
import org.apache.spark.sql.springbok.cost.{SideSize, Strategy}
import org.apache.spark.sql.springbok.record.JoinDecision
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/** A history that is wrong: it changes no answer, no bound, and only one plan. */
class HistoryTrustSuite extends HistoryTest {
  // Joins are compared one by one with those that are planned without a history.
  override protected def sessionConf: Map[String, String] =
    super.sessionConf + (ReorderConf.ENABLED.key -> "false")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table(
      "orders",
      "SELECT id AS o, id % 1000 AS customer, id % 50 AS product, concat('r', id) AS remark FROM range(20000)"
    )
    table("customers", "SELECT id AS c, id % 10 AS region, concat('name ', id) AS name FROM range(1000)")
    table("products", "SELECT id AS p, id % 5 AS kind, array(id, id) AS several FROM range(50)")
  }

  /** Writes the table anew: the view has other files. */
  private def rewritten(name: String, sql: String, mode: String = "overwrite"): Unit = {
    val path = folder.resolve(name).toString
    spark.sql(sql).coalesce(1).write.mode(mode).parquet(path)
    spark.read.parquet(path).createOrReplaceTempView(name)
  }

  private def decisions(df: DataFrame): Seq[JoinDecision] = record(df).joins.flatMap(_.planned)

  /** What was planned and what ran. */
  private def shape(df: DataFrame): (Seq[Strategy], Seq[String]) =
    (decisions(df).map(_.choice.chosen), joins(df).map(_.getClass.getSimpleName))

  /** The plan of the query with no history at all. */
  private def blind(sql: String): Seq[JoinDecision] = conf(HistoryConf.ENABLED.key -> "false") {
    val df = spark.sql(sql)
    executed(df): Unit
    decisions(df)
  }

  private def sides(d: JoinDecision): Seq[SideSize] =
    d.input.toSeq.flatMap(in => Seq(in.left.size, in.right.size))

  /** No bound is lower than by statistics alone, and nothing is broadcast whose bound is larger than the limit. */
  private def checkBounds(df: DataFrame, sql: String): Unit = {
    val limit = spark.sessionState.conf.getConf(JoinConf.BROADCAST_BYTES_LIMIT).toDouble
    for ((with1, without) <- decisions(df).zip(blind(sql))) {
      for ((a, b) <- sides(with1).zip(sides(without)); bound <- b.boundBytes)
        assert(a.boundBytes.exists(_ >= bound), s"$sql\n$a\n$b")
      // NOT IN has no other strategy.
      for (
        in <- with1.input if with1.choice.constraint.isEmpty; build <- Strategy.build(with1.choice.chosen)
      ) {
        val size = (if (build == BuildLeft) in.left else in.right).size
        if (with1.choice.chosen == Strategy.Broadcast(build)) assert(size.boundBytes.exists(_ <= limit), sql)
      }
    }
  }

  /** Another run, whose answer has been checked. */
  private def again(sql: String): DataFrame = {
    val df = spark.sql(sql)
    df.collect(): Unit
    settle()
    df
  }

  /** A run with what the history believes, wrong as it may be. Then the next plan is the one that a right history gives. */
  private def corrected(sql: String): Unit = {
    checkBounds(learned(sql), sql)
    val next = again(sql)
    checkBounds(next, sql)
    history.clear()
    again(sql): Unit
    val right = again(sql)
    // Of parts whose rows a runtime filter removes, the selectivities of the form remain from other data.
    if (spark.conf.get(FilterConf.MODE.key) == "OFF") {
      assert(shape(next) == shape(right), sql)
      assert(fromHistory(next) == fromHistory(right))
      for (error <- joinErrors(next)) assert(error == 1, sql)
    }
  }

  private val ways = Seq("OFF" -> "268435456", "GLOBAL" -> "20000")

  /** Without runtime filters and with room for broadcasts, and the other way round. */
  private def bothWays(body: => Unit): Unit = for ((mode, limit) <- ways) {
    history.clear()
    conf(FilterConf.MODE.key -> mode, JoinConf.BROADCAST_BYTES_LIMIT.key -> limit, noSparkBroadcast)(body)
  }

  private val queries = Seq(
    """SELECT region, kind, count(*) FROM orders JOIN customers ON customer = c JOIN products ON product = p
      |WHERE name LIKE 'name 7%' AND kind < 3 GROUP BY region, kind""".stripMargin,
    "SELECT count(o), count(*) FROM customers LEFT JOIN orders ON customer = c AND remark LIKE '%7'",
    "SELECT count(*) FROM customers WHERE c IN (SELECT customer FROM orders WHERE remark LIKE '%9')",
    "SELECT count(*) FROM customers WHERE c NOT IN (SELECT customer FROM orders WHERE remark LIKE '%9')",
    "SELECT x.customer, name FROM (SELECT customer FROM orders GROUP BY customer HAVING count(*) > 10) x JOIN customers ON customer = c",
    "SELECT count(*) FROM orders x JOIN orders y ON x.customer = y.product WHERE x.remark LIKE '%1'",
    "SELECT count(*) FROM orders FULL JOIN (SELECT customer AS k FROM orders UNION ALL SELECT c FROM customers) ON o = k"
  )

  /** Teaches every part of the query so many rows, each with another value. */
  private def teach(plan: LogicalPlan, rows: Long): Unit =
    new QueryHistory(history).learn(
      Observed(
        plan.collect { case p => p -> rows },
        plan.collect { case p => p.output.map((p, _, rows)) }.flatten
      ),
      _ => Some(1e6),
      sinceMs = Long.MaxValue
    )

  test("whatever a history says, no bound gets lower and no column unique") {
    for (sql <- queries; rows <- Seq(0L, 1L, 1000000L, Long.MaxValue)) {
      history.clear()
      val plan = optimized(sql)
      teach(plan, rows)
      val (stats, without) = (served, new PlanStats())
      assert(plan.collect { case p if isLearned(stats(p)) => p }.nonEmpty)
      plan.foreach { p =>
        val (a, b) = (stats(p), without(p))
        assert(
          a.columns.toMap.map { case (k, c) => k -> c.uniqueness } ==
            b.columns.toMap.map { case (k, c) => k -> c.uniqueness }
        )
        assert(a.columns.values.toSeq.map(_.range) == b.columns.values.toSeq.map(_.range))
        for (r <- b.rows) assert(a.rows.exists(x => x.bound >= r.bound && x.most >= r.most), s"$rows\n$p")
      }
    }
  }

  test(
    "whatever a history says, answers are the same, broadcasts are bounded, and one run corrects it",
    Slow
  ) {
    for (sql <- queries; rows <- Seq(0L, 1000000000000L)) {
      bothWays {
        teach(optimized(sql), rows)
        checkBounds(learned(sql), sql)
      }
      conf(noFilters, noSparkBroadcast) {
        teach(optimized(sql), rows)
        corrected(sql)
      }
    }
  }

  test("a dimension whose filter selected one row and now selects all") {
    val sql = "SELECT count(*), max(remark) FROM orders JOIN flags ON customer = k WHERE tag LIKE 'x%'"
    bothWays {
      for (all <- Seq(false, true, false)) {
        val tag = if (all) "'x'" else "CASE WHEN id = 5 THEN 'x' ELSE 'y' END"
        rewritten("flags", s"SELECT id AS k, concat($tag, id) AS tag FROM range(1000)")
        corrected(sql)
      }
    }
  }

  test("one form of a query whose parameters are skewed") {
    rewritten(
      "skewed",
      "SELECT id AS k, concat(CASE WHEN id % 100 = 0 THEN string(id) ELSE 'hot' END, ' ', id) AS t FROM range(20000)"
    )
    def sql(like: String) = s"SELECT count(*), max(t) FROM skewed JOIN orders ON k = o WHERE t LIKE '$like %'"
    bothWays {
      for (like <- Seq("hot", "100", "200", "hot", "100", "none")) {
        checkBounds(learned(sql(like)), sql(like))
        if (spark.conf.get(FilterConf.MODE.key) == "OFF")
          assert(joinErrors(again(sql(like))).forall(_ == 1))
      }
    }
  }

  test("a table that is replaced by other data of the same size") {
    val sql =
      "SELECT count(*), max(name) FROM swapped JOIN customers ON k = c JOIN products ON k = p WHERE t LIKE 'a%'"
    bothWays {
      for (kept <- Seq(1, 4000, 3, 0)) {
        rewritten(
          "swapped",
          s"SELECT (id * 7) % 1000 AS k, concat(CASE WHEN id < $kept THEN 'a' ELSE 'b' END, id) AS t FROM range(4000)"
        )
        corrected(sql)
      }
    }
  }

  test("a table that has grown a thousandfold, at once and by more files") {
    val sql = "SELECT count(*), max(name) FROM growing JOIN customers ON k = c WHERE t LIKE '%1'"
    def rows(n: Int) = s"SELECT id % 1000 AS k, concat('t', id) AS t FROM range($n)"
    bothWays {
      rewritten("growing", rows(40))
      corrected(sql)
      rewritten("growing", rows(40000), "append")
      corrected(sql)
      rewritten("growing", rows(40))
      corrected(sql)
      rewritten("growing", rows(40000))
      corrected(sql)
    }
  }

  test("a join that explodes") {
    val sql =
      "SELECT count(*), max(name) FROM hot JOIN facts ON hot.k = facts.k JOIN customers ON v = c WHERE t LIKE 'a%'"
    bothWays {
      for (keys <- Seq(1000, 1, 1000)) {
        rewritten("hot", s"SELECT id % $keys AS k, concat('a', id) AS t FROM range(300)")
        rewritten("facts", s"SELECT id % $keys AS k, id % 1000 AS v FROM range(1000)")
        corrected(sql)
      }
    }
  }

  private def doubtful(kept: Int): Unit = rewritten(
    "doubtful",
    s"""SELECT id AS o, id % 1000 AS customer, concat(CASE WHEN id < $kept THEN 'a' ELSE 'b' END, id) AS t
       |FROM range(20000)""".stripMargin
  )

  private def ofDoubtful(what: String): String =
    s"SELECT $what FROM doubtful JOIN customers ON customer = c WHERE region = 3 AND t LIKE 'a%'"

  private def doubted: LogicalPlan = optimized(ofDoubtful("count(*)")).collectFirst {
    case f @ Filter(c, _) if c.references.exists(_.name == "t") => f
  }.get

  /** Whether the history has an entry of the rows, and not only the selectivity of the form. */
  private def believed: Boolean = {
    val e = new PlanStats()(doubted)
    new QueryHistory(history).applied(doubted, e, 1) != e
  }

  test("what was doubted serves one query, even if that fails") {
    doubtful(3)
    conf(noFilters)(learned(ofDoubtful("count(*)"))): Unit
    doubtful(19000)
    assert(believed)
    intercept[Exception](spark.sql(ofDoubtful("raise_error(concat(name, t))")).collect()): Unit
    settle()
    assert(!believed)
  }

  test(
    "a side whose size only the history knows is broadcast neither before nor after it is measured to be large"
  ) {
    val sql =
      """SELECT count(*) FROM orders JOIN (SELECT explode(several) AS e FROM products CROSS JOIN range(2000)) ON customer = e""".stripMargin
    val plan = optimized(sql)
    val generate = plan.collectFirst { case g: Generate => g }.get
    assert(new PlanStats()(generate).rows.isEmpty)
    teach(plan, 3)
    assert(isLearned(served(generate)) && served(generate).rows.exists(r => r.value == 3 && r.bound > 1e18))
    conf(noFilters, noSparkBroadcast, JoinConf.BROADCAST_BYTES_LIMIT.key -> "500000") {
      val df = learned(sql)
      assert(joins(df).collect { case b: BroadcastHashJoinExec => b }.forall(_.buildSide == BuildLeft))
    }
  }
}

package org.apache.spark.sql.springbok.rules.reorder

import scala.util.Random

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.{Join, JoinHint, LogicalPlan}
import org.apache.spark.sql.classic
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.joins.{BroadcastNestedLoopJoinExec, CartesianProductExec}
import org.apache.spark.sql.springbok.{Slow, Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.conf.{FilterConf, ReorderConf, SpringbokConf, StatsConf}
import org.apache.spark.sql.springbok.record.{DecidedOrder, PlanningState}

class ReorderJoinsSuite extends SpringbokTest {
  // The tables are small: what scans cost would outweigh what the joins do.
  override protected def sessionConf: Map[String, String] =
    super.sessionConf ++ Map(
      ReorderConf.ENABLED.key -> "true",
      ReorderConf.MIN_GAIN.key -> "0.001",
      ReorderConf.MIN_GAIN_MS.key -> "0",
      // Runtime filters leave little that another order could save.
      FilterConf.MODE.key -> "OFF"
    )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table(
      "fact",
      """SELECT id AS k, id % 20000 AS o, IF(id % 13 = 0, NULL, id % 100) AS d, CAST(id % 7 AS double) AS x,
        |  concat('a text that makes the row wide ', id) AS t FROM range(100000)""".stripMargin
    )
    table(
      "orders",
      "SELECT id AS o, id % 2000 AS c, id % 5 AS p, concat('wide as well ', id) AS w FROM range(20000)"
    )
    table("customer", "SELECT id AS c, id % 25 AS n, concat('customer ', id) AS name FROM range(2000)")
    table("nation", "SELECT id AS n, id % 5 AS r FROM range(25)")
    table(
      "dim",
      "SELECT id AS d, id % 10 AS g, IF(id % 3 = 0, -0.0D, CAST(id % 7 AS double)) AS y FROM range(100)"
    )
    table(
      "floats",
      "SELECT id AS i, IF(id % 5 = 0, double('NaN'), IF(id % 5 = 1, -0.0D, IF(id % 5 = 2, NULL, 0.0D))) AS z FROM range(50)"
    )
    table("parted", "SELECT id AS k, id % 20 AS o, id % 10 AS d FROM range(20000)", partitionBy = Seq("d"))
    spark.sql(
      "CREATE TABLE bucketed USING parquet CLUSTERED BY (o) INTO 4 BUCKETS AS SELECT id AS o, id % 7 AS c FROM range(10000)"
    ): Unit
  }

  private def plan(df: DataFrame): LogicalPlan =
    df.asInstanceOf[classic.DataFrame].queryExecution.optimizedPlan

  private def order(df: DataFrame): DecidedOrder = record(df).decisions.orders.head

  /** Bad as it is written: the customers of one nation come last. */
  private val bad =
    "FROM fact f JOIN orders o ON f.o = o.o JOIN customer c ON o.c = c.c JOIN nation n ON c.n = n.n"
  private val one = "WHERE n.n = 3"

  private def changed(sql: String): DataFrame = {
    val df = same(sql)
    assert(order(df).reason.code == "LOWER_COST", order(df))
    assert(df.schema == off(spark.sql(sql).schema))
    df
  }

  private def left(reason: String, sql: String): DataFrame = {
    val df = same(sql)
    assert(order(df).reason.code == reason, order(df))
    assert(order(df).after.isEmpty)
    df
  }

  test("what reduces a relation is joined to it first", Smoke) {
    val df = changed(s"SELECT count(*), max(f.t), max(o.w) $bad WHERE n.r = 3 AND c.c % 50 = 1")
    assert(order(df).before == "fact, orders, customer, nation")
    assert(order(df).after.exists(_.contains("customer, nation")), order(df))
    // No column that is not needed above is carried along.
    val top = plan(df).collectFirst { case j: Join => j }.get
    assert(top.outputSet.forall(a => Seq("t", "w", "o", "c", "n").contains(a.name)), top)
    // The fact is in the join on top and in no other.
    val withFact = plan(df).collect { case j: Join if relations(j).contains("t") => j }
    assert(withFact.size == 1)
  }

  private def relations(p: LogicalPlan): Set[String] =
    p.collect { case r: LogicalRelation => r.output.map(_.name) }.flatten.toSet

  test("columns keep their order, also of SELECT * and of the same name") {
    changed(s"SELECT * $bad $one AND f.k < 3000")
    changed(s"SELECT n.n, f.*, c.n, o.w $bad $one AND f.k < 3000")
  }

  test("off by a setting; a margin that is not reached; a wrong margin") {
    conf(ReorderConf.ENABLED.key -> "false") {
      assert(record(same(s"SELECT count(*) $bad $one")).decisions.orders.isEmpty)
    }
    conf(ReorderConf.MIN_GAIN.key -> "0.1")(left("SMALL_GAIN", s"SELECT count(*) $bad"))
    // All joins cost less than that: no order is searched.
    conf(ReorderConf.MIN_GAIN.key -> "0.99")(left("SMALL_GAIN", s"SELECT count(*) $bad $one"))
    intercept[IllegalArgumentException](spark.conf.set(ReorderConf.MIN_GAIN.key, "1.5"))
  }

  test("joins that take little time, and an order that another selectivity would make the worse one, stay") {
    conf(ReorderConf.MIN_GAIN_MS.key -> "100s")(left("SMALL_GAIN", s"SELECT count(*) $bad $one"))
    val two =
      "SELECT count(*), max(f.t) FROM fact f JOIN dim d ON f.d = d.d JOIN orders o ON f.o = o.o WHERE d.g < 3"
    val uncertain = order(left("UNCERTAIN_GAIN", s"$two AND o.c < 400"))
    assert(uncertain.best.exists(_ != uncertain.before))
    changed(s"$two AND o.c < 40")
    intercept[IllegalArgumentException](spark.conf.set(ReorderConf.MIN_GAIN_MS.key, "-1"))
  }

  test("a join that the query has twice is a relation of its own, and its exchanges are reused") {
    val pairs = "WITH pairs AS (SELECT a.o FROM fact a JOIN fact b ON a.o = b.o WHERE a.d <> b.d)"
    val joined =
      "SELECT count(*) FROM pairs p JOIN orders o ON p.o = o.o JOIN customer c ON o.c = c.c WHERE c.n = 3"
    assert(order(same(s"$pairs $joined")).relations == 4)
    val df = same(s"$pairs $joined UNION ALL SELECT count(DISTINCT o) FROM pairs")
    assert(record(df).decisions.orders.map(_.relations) == Seq(3))
    // All of its joins are there twice: the block is taken apart in both places.
    val twice = same(
      s"$pairs SELECT x.n, y.n FROM ($joined GROUP BY c.n) x JOIN ($joined GROUP BY c.n) y".replace(
        "SELECT count(*)",
        "SELECT c.n, count(*)"
      )
    )
    assert(record(twice).decisions.orders.map(_.relations) == Seq(4, 4))
    assert(record(twice).decisions.orders.map(_.after).distinct.size == 1)
  }

  test("the rule decides once, though its batch runs until nothing changes") {
    assert(record(changed(s"SELECT count(*) $bad $one")).decisions.orders.size == 1)
  }

  test("every conjunct stays: of two and three relations, equalities of expressions, of the same columns") {
    for (
      more <- Seq(
        "AND f.x < CAST(c.n AS double)",
        "AND f.x + CAST(o.p AS double) < CAST(c.n AS double) * 1.5",
        "AND (f.d = 3 OR o.p = 2 OR n.r = 1)",
        "AND f.k = o.o",
        "AND coalesce(f.d, 0) <=> coalesce(o.p, 0)",
        "AND o.p = n.r AND f.d = n.r"
      )
    ) changed(s"SELECT count(*), max(f.t), sum(o.o) $bad $one $more")
  }

  test("an equality that follows from others connects what no conjunct does") {
    val df = same(
      "SELECT count(*), max(b.w) FROM fact f JOIN orders a ON f.o = a.o JOIN orders b ON f.o = b.o WHERE a.c = 77 AND b.p = 2"
    )
    assert(order(df).relations == 3)
    assert(
      joins(df).forall(j =>
        !j.isInstanceOf[BroadcastNestedLoopJoinExec] && !j.isInstanceOf[CartesianProductExec]
      )
    )
    for (on <- Seq("a.z = b.z AND b.z = c.z", "a.z <=> b.z AND b.z = c.z"); t <- Seq("floats", "dim")) {
      val c = if (t == "dim") "(SELECT d AS i, y AS z FROM dim)" else t
      same(s"SELECT a.i, b.i, c.i FROM floats a, floats b, $c c WHERE $on AND a.i < 20 AND c.i % 2 = 1")
    }
  }

  test("columns that are equal already make no key wider") {
    val df = changed(
      s"SELECT count(*), max(f.t), max(o.w), max(e.w) $bad JOIN orders e ON f.o = e.o AND o.o = e.o $one"
    )
    assert(joins(df).forall(_.leftKeys.size == 1), joins(df))
    // Two columns of one table that others make equal are not so by themselves.
    changed(s"SELECT count(*), max(f.t) $bad $one AND f.k = o.o AND f.k = o.p")
  }

  test("a cartesian product that the query asks for is left to the end") {
    val df = same(
      "SELECT count(*) FROM (SELECT 7 AS seven FROM range(3)) x CROSS JOIN fact f JOIN orders o ON f.o = o.o JOIN customer c ON o.c = c.c WHERE c.c = 5"
    )
    assert(order(df).relations == 4)
    assert(joins(df).size == 3)
  }

  test("joins of other types, aggregates and limits are relations of their own") {
    val df = changed(
      """SELECT count(*), max(f.t), max(l.g) FROM fact f
         |  JOIN (SELECT o.*, d.g FROM orders o LEFT JOIN dim d ON o.p = d.d) l ON f.o = l.o
         |  JOIN (SELECT c, n, count(*) AS m FROM customer GROUP BY c, n) c ON l.c = c.c
         |  JOIN nation n ON c.n = n.n WHERE n.r = 1 AND f.k NOT IN (SELECT d FROM dim)""".stripMargin
    )
    assert(order(df).relations >= 3)
    changed(
      s"""SELECT * FROM (SELECT o.c, count(*) AS m $bad $one GROUP BY o.c) a
         |  JOIN customer c ON a.c = c.c JOIN nation n ON c.n = n.n""".stripMargin
    )
  }

  test("subqueries that are planned by themselves stay, and do not keep their query from being reordered") {
    val df = same(s"SELECT * FROM dim WHERE g < (SELECT count(*) $bad $one) AND d < 5")
    val inner = plan(df).collectWithSubqueries { case p => p }.flatMap(PlanningState.on)
    assert(inner.head.decisions.orders.map(_.reason.code) == Seq("ORDER_FIXED"))
    same(s"SELECT * FROM dim WHERE g IN (SELECT o.p $bad $one) AND EXISTS (SELECT 1 $bad WHERE n.r = g)")
    val both = same(s"SELECT count(*), max(f.t) $bad $one AND f.d IN (SELECT o.p $bad AND n.n = 4)")
    assert(record(both).decisions.orders.map(_.reason.code).toSet == Set("ORDER_FIXED", "LOWER_COST"))
  }

  test("a join that a subquery has as well runs once") {
    val pairs = "WITH pairs AS (SELECT a.o FROM fact a JOIN fact b ON a.o = b.o WHERE a.d <> b.d)"
    val df = same(
      s"$pairs SELECT count(*) FROM fact f WHERE f.o IN (SELECT o FROM pairs) AND " +
        "f.o IN (SELECT p.o FROM pairs p JOIN orders o ON p.o = o.o JOIN customer c ON o.c = c.c WHERE c.n = 3)"
    )
    assert(
      record(df).decisions.orders.nonEmpty && record(df).decisions.orders.forall(_.after.isEmpty),
      record(df).decisions.orders
    )
    val groups = s"WITH t AS (SELECT o.p AS p, count(*) AS m, max(f.t) AS t $bad $one GROUP BY o.p)"
    for (
      q <- Seq(
        s"$groups SELECT * FROM t WHERE m > (SELECT avg(length(t)) + avg(m) * 0.5 - 100 FROM t)",
        s"$groups SELECT * FROM t WHERE m IN (SELECT max(m) FROM t WHERE t > 'a')"
      )
    ) {
      val both = same(q)
      assert(
        record(both).decisions.orders.nonEmpty && record(both).decisions.orders.forall(_.after.isEmpty),
        record(both).decisions.orders
      )
    }
  }

  test("an equality of three relations that becomes a key takes -0.0 for 0.0 and all NaNs for one") {
    spark
      .sql(
        "SELECT id AS k, id % 40 AS j, IF(id % 2 = 0, NULL, 0.0D) AS x, repeat('x', 200) AS t FROM range(20000)"
      )
      .write
      .parquet(folder.resolve("a").toString)
    spark.read.parquet(folder.resolve("a").toString).createOrReplaceTempView("a")
    table("b", "SELECT id AS j, IF(id % 3 = 0, double('NaN'), -0.0D) AS x FROM range(40)")
    table(
      "c",
      "SELECT id AS k, IF(id % 5 = 0, double('NaN'), 0.0D) AS x, repeat('y', 200) AS t FROM range(20000)"
    )
    for (key <- Seq("coalesce(a.x, b.x) = c.x", "a.x + b.x <=> c.x", "coalesce(b.x, a.x) = c.x")) {
      val sql =
        s"SELECT count(*), max(a.t), max(c.t) FROM a JOIN c ON a.k = c.k JOIN b ON a.j = b.j AND $key WHERE b.j < 2"
      val after = order(changed(sql)).after
      assert(after.exists(_.contains("(a, b)")) || after.exists(_.startsWith("a, b")))
    }
  }

  test("a conjunct that has columns of both sides on each side is no key") {
    val df = same(
      "SELECT count(*) FROM fact a JOIN orders b ON a.o = b.o AND a.k = b.o JOIN orders c ON c.o = b.o" +
        " JOIN dim d ON d.d = a.d AND a.d + c.p = d.g WHERE d.d < 3"
    )
    assert(order(df).relations == 4)
    assert(
      joins(df).forall(j =>
        !j.isInstanceOf[BroadcastNestedLoopJoinExec] && !j.isInstanceOf[CartesianProductExec]
      )
    )
  }

  test("hints keep the order") {
    left("USER_HINT", s"SELECT /*+ BROADCAST(o) */ count(*) $bad $one")
    left("USER_HINT", s"SELECT /*+ STRAIGHT_JOIN */ count(*) $bad $one")
    left("USER_HINT", s"SELECT /*+ MERGE(n) */ count(*) $bad $one")
  }

  test("LEADING names the relations that are joined first") {
    def after(hint: String, from: String = bad) = {
      val decided = order(same(s"SELECT /*+ $hint */ count(*), max(f.t) $from $one"))
      assert(decided.reason.code == "USER_HINT", decided)
      decided.after
    }
    assert(after("LEADING(n, c, o, f)").contains("nation, customer, orders, fact"))
    // No cross join: the fact has no key of a customer.
    assert(after("leading('c')").contains("customer, orders, fact, nation"))
    assert(after("LEADING(n, f)").contains("nation, fact, orders, customer"))
    assert(
      after("LEADING(f, o, c)").isEmpty && after("LEADING(nowhere, o)").contains(
        "orders, fact, customer, nation"
      )
    )
    val nested =
      "FROM fact f JOIN (SELECT o.* FROM orders o JOIN customer c ON o.c = c.c) x ON f.o = x.o JOIN nation n ON x.p = n.n"
    assert(after("LEADING(x, n)", nested).contains("orders, customer, nation, fact"))
    // Neither costs nor statistics are asked.
    conf(ReorderConf.MIN_GAIN_MS.key -> "100s", StatsConf.FOOTERS_ENABLED.key -> "false")(
      assert(after("LEADING(n)").contains("nation, customer, orders, fact"))
    )
    conf(ReorderConf.ENABLED.key -> "false")(
      assert(record(same(s"SELECT /*+ LEADING(n) */ count(*) $bad $one")).decisions.orders.isEmpty)
    )
  }

  test("LEADING changes no order that has to stay") {
    left("USER_HINT", s"SELECT /*+ LEADING(n), BROADCAST(o) */ count(*) $bad $one")
    left("USER_HINT", s"SELECT /*+ LEADING(n), STRAIGHT_JOIN */ count(*) $bad $one")
    left("ROW_ORDER", s"SELECT /*+ LEADING(n) */ f.k, o.w $bad $one LIMIT 100000")
    left("MAY_RAISE", s"SELECT /*+ LEADING(n) */ count(*) $bad AND 100 / (n.n - c.c) > 3 $one AND c.c > 100")
  }

  test("nothing is changed below what depends on the order of rows") {
    val few = s"SELECT f.k, o.w $bad $one"
    for (
      q <- Seq(
        s"$few LIMIT 100000",
        s"$few LIMIT 100000 OFFSET 1",
        s"SELECT k, count(*) FROM ($few) GROUP BY k LIMIT 100000"
      ) ++ Option.when(SPARK_VERSION >= "4.2")(s"SELECT max_by(f.t, f.d, 3) $bad $one")
    )
      left("ROW_ORDER", q)
    for (e <- Seq("first(f.d)", "last(f.d)", "collect_list(f.d)", "max_by(f.k, f.d)", "f.k + rand()")) {
      val df = spark.sql(s"SELECT $e $bad $one")
      assert(order(df).reason.code == "ROW_ORDER")
    }
    assert(
      order(spark.sql(s"SELECT count(*) FROM ($few) TABLESAMPLE (10 PERCENT)")).reason.code == "ROW_ORDER"
    )
    // Sorted, the limit takes the same rows.
    changed(s"$few ORDER BY f.k LIMIT 10")
    changed(s"SELECT count(*) FROM ($few) LIMIT 10".replace("LIMIT 10", "ORDER BY 1 LIMIT 10"))
  }

  test("a condition that may fail on rows that another join removes keeps the order") {
    left("MAY_RAISE", s"SELECT count(*) $bad AND 100 / (n.n - c.c) > 3 $one AND c.c > 100")
    left(
      "MAY_RAISE",
      "SELECT count(*) FROM fact f JOIN orders o ON f.o = o.o JOIN customer c ON CAST(substring(o.w, 14) AS int) = c.c WHERE c.n = 3"
    )
  }

  test("unknown rows keep the order") {
    conf(StatsConf.FOOTERS_ENABLED.key -> "false") {
      val df = left("STATS_UNKNOWN", s"SELECT count(*) $bad $one")
      assert(order(df).reason.text.contains("customer"))
    }
  }

  test("bucketed tables and dynamic partition pruning keep the order") {
    left(
      "ORDER_FIXED",
      "SELECT count(*) FROM fact f JOIN bucketed o ON f.o = o.o JOIN customer c ON o.c = c.c WHERE c.n = 3"
    )
    left(
      "ORDER_FIXED",
      "SELECT count(*) FROM parted f JOIN orders o ON f.o = o.o JOIN dim d ON f.d = d.d WHERE d.g = 3 AND o.c < 100"
    )
  }

  test("two relations have one order; a rule that fails leaves the plan") {
    assert(record(same("SELECT count(*) FROM fact f JOIN orders o ON f.o = o.o")).decisions.orders.isEmpty)
    conf(SpringbokConf.FAIL_IN.key -> "ReorderJoins") {
      val df = same(s"SELECT count(*) $bad $one")
      assert(
        record(df).decisions.orders.isEmpty && record(df).decisions.failures.map(_.rule) == Seq(
          "ReorderJoins"
        )
      )
    }
  }

  test("many relations are planned") {
    for (n <- Seq(12, 24)) {
      val joins = (1 to n).map(i => s"JOIN dim d$i ON f.d = d$i.d").mkString(" ")
      val df =
        same(s"SELECT count(*), max(f.k) FROM fact f $joins WHERE d$n.g = 3 AND d1.d < 50 AND f.k < 1000")
      assert(order(df).relations == n + 1)
      assert(plan(df).collect { case j: Join => j }.forall(j => j.condition.isDefined))
    }
  }

  test("random joins give the same rows in any order that is chosen", Slow) {
    val random = new Random(11)
    val tables = Seq(
      "fact" -> Seq("k", "o", "d"),
      "orders" -> Seq("o", "c", "p"),
      "customer" -> Seq("c", "n"),
      "nation" -> Seq("n", "r"),
      "dim" -> Seq("d", "g")
    )
    def pick[T](s: Seq[T]) = s(random.nextInt(s.size))
    val decided = for (_ <- 1 to 12) yield {
      val chosen = Seq.fill(3 + random.nextInt(4))(pick(tables)).zipWithIndex
      val (name, column) = ((i: Int) => s"t$i", (i: Int) => s"t$i.${pick(chosen(i)._1._2)}")
      val keys = (1 until chosen.size).map(i => s"${column(i)} = ${column(random.nextInt(i))}")
      val more = Seq.fill(random.nextInt(3)) {
        val (i, j) = (random.nextInt(chosen.size), random.nextInt(chosen.size))
        s"${column(i)} ${pick(Seq("=", "<", "<=>"))} ${column(j)}"
      }
      // Few enough rows that no result explodes.
      val small = chosen.indices.map(i => s"${column(i)} % 100 ${pick(Seq("= ", "< 3 AND 1 = "))}1")
      val from = chosen.map { case ((t, _), i) =>
        s"(SELECT * FROM $t WHERE ${tables.toMap.apply(t).head} < 150) ${name(i)}"
      }
      val sql =
        s"SELECT count(*), ${chosen.indices.map(i => s"sum(${column(i)})").mkString(", ")} FROM ${from.mkString(", ")} " +
          s"WHERE ${(keys ++ more ++ random.shuffle(small).take(2)).mkString(" AND ")}"
      conf("spark.sql.ansi.enabled" -> "false", ReorderConf.MIN_GAIN.key -> "0")(
        PlanningState.of(plan(same(sql))).toSeq.flatMap(_.decisions.orders).map(_.reason.code)
      )
    }
    assert(decided.flatten.count(_ == "LOWER_COST") >= 3, decided)
  }

  test("hints are gone from reordered joins before strategies are chosen") {
    val df = changed(s"SELECT count(*) $bad $one")
    assert(record(df).joins.forall(_.userHint == JoinHint.NONE))
    assert(record(df).joins.size == 3)
  }
}

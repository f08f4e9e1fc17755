package org.apache.spark.sql.springbok.rules.conjuncts

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression, IsNotNull}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan}
import org.apache.spark.sql.classic
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.springbok.{Smoke, SparkFeatures, SpringbokTest}
import org.apache.spark.sql.springbok.catalyst.{CannotRaise, ExpressionLabel}
import org.apache.spark.sql.springbok.conf.{ConjunctConf, SpringbokConf}
import org.scalatest.Assertion

class OrderConjunctsSuite extends SpringbokTest {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table(
      "t",
      """SELECT id AS a, IF(id % 3 = 0, 0, id % 50) AS b, CAST(id AS double) / 7 AS d,
        |  IF(id % 11 = 0, NULL, concat('text number ', id)) AS s, concat('other ', id % 100) AS u
        |FROM range(2000)""".stripMargin
    )
    spark.udf.register("dear", (s: String) => s != null && s.hashCode % 2 == 0): Unit
  }

  private def plan(df: DataFrame): LogicalPlan =
    df.asInstanceOf[classic.DataFrame].queryExecution.optimizedPlan

  private def split(condition: Expression): Seq[String] = OrderConjuncts
    .conjuncts(condition)
    .filterNot(_.isInstanceOf[IsNotNull])
    .map(ExpressionLabel)

  /** The conjuncts of the query's only filter, after the check that answers are equal. */
  private def filter(where: String, columns: String = "*"): Seq[String] = {
    val df = same(s"SELECT $columns FROM t WHERE $where")
    val filters = plan(df).collect { case f: Filter => f }
    assert(filters.size == 1)
    split(filters.head.condition)
  }

  private def starts(where: String)(prefixes: String*): Assertion = {
    val order = filter(where)
    val fits = order.size == prefixes.size && order.zip(prefixes).forall { case (c, p) => c.contains(p) }
    assert(fits, order)
  }

  test("cheap conjuncts come before dear ones", Smoke) {
    starts("s LIKE '%1%2%' AND a > 1900")("a > ", "LIKE")
    // Two of a hundred texts: Impala's measure is what the others cost for the rows that are left.
    starts("dear(s) AND s LIKE '%1%2%' AND u IN ('other 1', 'other 2') AND b < 10")(
      "IN (",
      "b < ",
      "LIKE",
      "dear"
    )
    starts("s RLIKE '1.2' AND s LIKE '%1%2%'")("LIKE", "RLIKE")
  }

  test("an order that is good already, or of cheap comparisons, is left") {
    starts("a > 100 AND b = 7 AND d < 3")("a > ", "b = ", "d < ")
    starts("a > 1900 AND s LIKE '%1%2%'")("a > ", "LIKE")
    val df = same("SELECT * FROM t WHERE a > 1900 AND s LIKE '%1%2%'")
    assert(record(df).decisions.conjuncts.map(_.changed) == Seq(false))
    conf(ConjunctConf.ENABLED.key -> "false") {
      starts("s LIKE '%1%2%' AND a > 1900")("LIKE", "a > ")
    }
  }

  test("the record has costs and selectivities") {
    val c = record(same("SELECT * FROM t WHERE s LIKE '%1%2%' AND a > 1900")).decisions.conjuncts.head
    assert(c.operator == "filter" && c.changed && c.after < c.before)
    assert(c.order.map(_.selectivity.isDefined) == Seq(true, true))
    assert(c.order.head.cost < c.order(1).cost && c.order.forall(!_.mayRaise))
  }

  test("a guard stays before what it guards, and the query does not fail") {
    // Rows with b = 0 would raise a division by zero; the guard is the dearer one.
    val guarded = Seq(
      "u LIKE '%o%er%' AND b <> 0 AND a / b > 30" -> Seq("LIKE", "b = 0", " / "),
      "coalesce(nullif(b, 0), 0) <> 0 AND 100 / b > 3 AND a < 900" -> Seq("a < ", "coalesce", " / "),
      "s IS NOT NULL AND u LIKE '%other%1%' AND CAST(substring(u, 7) AS int) > 10" -> Seq("LIKE", "CAST"),
      "s LIKE '%1%9%' AND dear(s) AND a > 1900" -> Seq("a > ", "LIKE", "dear")
    )
    for ((where, order) <- guarded) {
      starts(where)(order: _*)
      // Without ANSI mode less can fail, and more may move.
      conf("spark.sql.ansi.enabled" -> "false")(filter(where))
    }
    // Without its guard it does fail: the test means something.
    val e = intercept[Exception](spark.sql("SELECT sum(a) FROM t WHERE 100 / (b * 1) > 3").collect())
    assert(e.getMessage.contains("DIVIDE_BY_ZERO"))
  }

  test("a UDF that throws is not reached by rows that a conjunct before it removes") {
    spark.udf.register(
      "picky",
      (n: Long) => if (n < 1000) throw new IllegalStateException("picky") else n % 2 == 0
    ): Unit
    starts("s LIKE '%te%xt%' AND a >= 1000 AND picky(a)")("a >= ", "LIKE", "picky")
    starts("a >= 1000 AND picky(a) AND s LIKE '%1%5%9%'")("LIKE", "a >= ", "picky")
  }

  // Such a cast could once move before its guard.
  test("a cast of a variant, which raises in any mode, passes no guard") {
    assume(SparkFeatures.variants)
    conf("spark.sql.ansi.enabled" -> "false") {
      spark.sql(
        """CREATE OR REPLACE TEMP VIEW events AS SELECT IF(id % 2 = 0, 'int', 'text') AS kind,
          |  parse_json(IF(id % 2 = 0, CAST(id AS STRING), '[1]')) AS v FROM range(100)""".stripMargin
      ): Unit
      same("SELECT count(*) FROM events WHERE kind LIKE '%i%n%' AND CAST(v AS INT) > 5")
      val cast = spark.sql("SELECT CAST(v AS INT) AS i FROM events").asInstanceOf[classic.DataFrame]
      val found = cast.queryExecution.analyzed.expressions.flatMap(_.collect { case c: Cast => c })
      assert(found.size == 1 && !found.exists(CannotRaise(_)))
    }
  }

  test("nothing passes what is not deterministic") {
    for (
      where <- Seq(
        "s LIKE '%1%2%' AND rand(7) < 0.5 AND a > 500",
        "s LIKE '%1%2%' AND b > 3 AND rand(7) < 0.5 AND u LIKE '%1' AND a > 5"
      )
    ) {
      val order = filter(where)
      val at = order.indexWhere(_.contains("rand"))
      assert(order.take(at).exists(_.contains("LIKE '%1%2%'")), order)
      assert(order.drop(at).exists(_.contains("a > 5")), order)
    }
  }

  test("join conditions: keys stay, other conjuncts are ordered") {
    for (join <- Seq("JOIN", "LEFT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")) {
      val df = same(
        s"SELECT count(*) FROM t x $join t y ON concat(x.s, y.u) LIKE '%1%2%' AND x.b = y.a AND x.a + 0.5D < y.d"
      )
      val condition = plan(df).collectFirst { case j: Join => split(j.condition.get) }.get
      assert(condition.map(c => Seq("LIKE", "b = ", " < ").indexWhere(c.contains)) == Seq(2, 1, 0), condition)
    }
    val nested =
      same("SELECT count(*) FROM t x JOIN t y ON concat(x.s, y.u) LIKE '%1%2%' AND x.a < y.b WHERE x.a < 300")
    val condition = plan(nested).collectFirst { case j: Join => split(j.condition.get) }.get
    assert(condition.head.contains(" < "))
  }

  test("what is pushed into the scan is the same") {
    val sql = "SELECT count(*) FROM t WHERE s LIKE '%1%2%' AND u LIKE '%1' AND a > 1900 AND b IN (1, 2, 3)"
    def pushed(df: DataFrame) = collectWithSubqueries(executed(df)) { case s: FileSourceScanExec =>
      s.metadata("PushedFilters").stripPrefix("[").stripSuffix("]").split(", (?=[A-Z])").toSet
    }
    assert(pushed(same(sql)) == off(pushed(spark.sql(sql))))
  }

  test("a subquery's and a view's filters are ordered, and an exchange is still reused") {
    val sql =
      """WITH v AS (SELECT b, max(a) AS a FROM t WHERE s LIKE '%1%2%' AND d > 200 GROUP BY b)
        |SELECT x.b, x.a FROM v x JOIN v y ON x.b = y.a % 50
        |WHERE x.a > (SELECT avg(a) FROM t WHERE u LIKE '%1%' AND b < 5)""".stripMargin
    val df = same(sql)
    assert(record(df).decisions.conjuncts.count(_.changed) >= 2)
    val reused = (df: DataFrame) =>
      collectWithSubqueries(executed(df)) {
        case r: org.apache.spark.sql.execution.exchange.ReusedExchangeExec => r
      }.size
    assert(reused(df) == off { val d = spark.sql(sql); d.collect(); reused(d) })
  }

  test("a rule that fails leaves the query as it is and shows in the report") {
    conf(SpringbokConf.FAIL_IN.key -> "OrderConjuncts") {
      val df = same("SELECT * FROM t WHERE s LIKE '%1%2%' AND a > 1900")
      assert(record(df).decisions.failures.map(_.rule).contains("OrderConjuncts"))
    }
  }

  for (
    (text, harmless) <- Seq(
      "a + 1 > 3" -> false,
      "d + 1 > 3" -> true,
      "d / 2 > 3" -> false,
      "CAST(b AS double) > 3" -> true,
      "CAST(a AS int) = 3" -> false,
      "CAST(u AS int) = 3" -> false,
      "dear(u)" -> false,
      "u RLIKE '(a|b)*'" -> false,
      "u LIKE '%a%b' OR upper(s) = 'X'" -> true,
      "u LIKE s" -> false,
      "split(u, ' ')[1] = '3'" -> false,
      "substring(u, 7) IN ('1', s)" -> true,
      "a > (SELECT max(b) FROM t)" -> true,
      "make_date(a, b, 1) > DATE'2020-01-01'" -> false
    )
  ) test(s"$text may ${if (harmless) "not " else ""}raise") {
    val condition = spark.sql(s"SELECT * FROM t WHERE ($text) AND s LIKE '%1%x%1%'")
    val parts = plan(condition).collectFirst { case f: Filter => OrderConjuncts.conjuncts(f.condition) }.get
    val own = parts.filterNot(p => p.isInstanceOf[IsNotNull] || p.sql.contains("x%1"))
    assert(own.nonEmpty && own.forall(CannotRaise(_) == harmless), own)
  }
}

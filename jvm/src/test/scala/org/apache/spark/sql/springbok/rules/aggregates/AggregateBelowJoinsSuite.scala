package org.apache.spark.sql.springbok.rules.aggregates

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.Aggregate
import org.apache.spark.sql.execution.ExpandExec
import org.apache.spark.sql.execution.aggregate.HashAggregateExec
import org.apache.spark.sql.springbok.{Slow, Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.catalyst.LocalAggregate
import org.apache.spark.sql.springbok.conf.{AggregateConf, ReorderConf, SpringbokConf}
import org.scalatest.Assertion

class AggregateBelowJoinsSuite extends SpringbokTest {
  override protected def sessionConf: Map[String, String] =
    super.sessionConf ++ Map(AggregateConf.MIN_GAIN_MS.key -> "0", "spark.sql.planChangeValidation" -> "true")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    // Twelve rows of each ticket lie together. Keys of some customers are null, and some have no customer.
    table(
      "sales",
      """SELECT id, if(id % 97 = 0, null, cast(id div 12 % 900 AS int)) AS customer, cast(id div 4000 AS int) AS day,
        |  cast(id % 50 AS int) AS item, cast(id % 7 AS tinyint) AS tiny, if(id % 5 = 0, null, cast(id % 300 AS smallint)) AS small,
        |  if(id % 11 = 0, null, cast(id % 1000 AS int)) AS n, id * 1000003 AS big,
        |  cast(if(id % 13 = 0, null, (id % 9999) / 100.0) AS decimal(7, 2)) AS price,
        |  cast(id % 9999 AS decimal(18, 2)) AS amount, cast(id AS decimal(30, 2)) AS wide,
        |  id / 4.0D AS double, if(id % 2 = 0, 0.0D, -0.0D) AS zero, concat('t', id % 20) AS text, id % 3 = 0 AS flag,
        |  date_add(date'2020-01-01', cast(id % 30 AS int)) AS at FROM range(0, 40000)""".stripMargin
    )
    table(
      "customers",
      """SELECT cast(id AS int) AS c, concat('name of customer ', id % 400) AS name, concat('city ', id % 10) AS city,
        |  if(id % 2 = 0, 0.0D, -0.0D) AS zero FROM range(0, 1000)""".stripMargin
    )
    // Each day twice: a row of sales is repeated.
    table("days", "SELECT cast(id % 10 AS int) AS d, concat('month ', id % 5) AS month FROM range(0, 20)")
  }

  /** Plans as if each possible aggregate below a join paid. */
  private def forced[T](body: => T): T = conf(SpringbokConf.FORCED.key -> "1")(body)

  private def local(df: DataFrame): Seq[LocalAggregate] =
    execution(df).optimizedPlan.collectWithSubqueries { case l: LocalAggregate => l }

  private def keys(df: DataFrame): Seq[Seq[String]] = local(df).map(_.child).collect { case a: Aggregate =>
    a.groupingExpressions.flatMap(_.references).map(_.name)
  }

  private def split(sql: String): Assertion = forced {
    val df = same(sql)
    assert(local(df).nonEmpty, execution(df).optimizedPlan)
  }

  /** A plan without the rule's operator is one that other suites run. */
  private def whole(sql: String): Assertion = forced {
    val df = spark.sql(sql)
    assert(local(df).isEmpty, execution(df).optimizedPlan)
  }

  private def byName(functions: String, join: String = "JOIN"): String =
    s"SELECT name, $functions FROM sales $join customers ON customer = c GROUP BY name"

  test("tasks aggregate before a join if their keys repeat, and the report says so", Smoke) {
    val df = same(byName("sum(price), count(*), avg(price)"))
    assert(keys(df) == Seq(Seq("customer")))
    assert(local(df).forall(_.retained < 0.2))
    assert(
      record(df).decisions.aggregates.map(a => a.below -> a.reason.code) == Seq(
        Some("sales") -> "AGGREGATED_FIRST"
      )
    )
    // The rows that leave the tasks' aggregates.
    val rows = collect(executed(df)) {
      case h: HashAggregateExec if h.groupingExpressions.map(_.name) == Seq("customer") =>
        h.metrics("numOutputRows").value
    }
    assert(rows.sum < 8000, rows)
    off(assert(local(spark.sql(byName("sum(price)"))).isEmpty))
    conf(AggregateConf.BELOW_JOINS.key -> "false")(
      assert(local(spark.sql(byName("sum(price)"))).isEmpty)
    )
  }

  test("rows are joined first if tasks would leave most of them, or too little is saved") {
    val few = same("SELECT name, sum(price) FROM sales JOIN customers ON id = c GROUP BY name")
    assert(local(few).isEmpty)
    assert(record(few).decisions.aggregates.map(_.reason.code) == Seq("AGGREGATED_ABOVE"))
    conf(AggregateConf.MIN_GAIN_MS.key -> "600000") {
      val short = same(byName("sum(price)"))
      assert(local(short).isEmpty && record(short).decisions.aggregates.flatMap(_.below).isEmpty)
    }
  }

  test("functions and types", Smoke, Slow) {
    split(
      byName("count(*), count(n), count(n, price), sum(tiny), sum(small), sum(n), sum(price), sum(amount)")
    )
    split(byName("min(n), max(n), min(price), max(at), min(flag), max(big), bool_and(flag), bool_or(flag)"))
    split(byName("bit_and(n), bit_or(n), bit_xor(n), bit_xor(tiny), avg(tiny), avg(small), avg(price)"))
    // All footers show few digits.
    split(byName("avg(n), sum(id), avg(id), sum(n) FILTER (WHERE flag)"))
    split(
      byName(
        "sum(price + amount), sum(price * 2), sum((price + amount) / 2), max(price + amount), sum(CASE WHEN flag THEN price END)"
      )
    )
    split(byName("sum(price) / count(n) + 1, sum(price) + max(price)") + " HAVING sum(price) > 100")
    split(
      byName(
        "count(*) FILTER (WHERE n > 500), sum(price) FILTER (WHERE flag), avg(price) FILTER (WHERE NOT flag)"
      )
    )
    conf("spark.sql.ansi.enabled" -> "false") {
      split(byName("sum(big), sum(big * 1000003 * 1000003), sum(n)"))
    }
  }

  test("functions whose result depends on more than those of parts, and sums that may overflow") {
    Seq(
      "sum(double)",
      "min(double)",
      "avg(big)",
      "sum(big)",
      "sum(wide)",
      "avg(amount)",
      "min(text)",
      "count(DISTINCT n)",
      "sum(DISTINCT n)",
      "approx_count_distinct(n)",
      "try_sum(n)",
      "sum(n + 1)",
      "sum(n % tiny) FILTER (WHERE tiny > 0)",
      "sum(cast(text AS int)) FILTER (WHERE text < 'a')"
    ).foreach(f => whole(byName(s"count(*), $f")))
  }

  test("columns that may raise an error and are computed for matching rows only") {
    whole(
      """SELECT name, k, sum(n) FROM (SELECT id, n, customer, cast(text AS int) AS k FROM sales) JOIN customers
        |ON customer = c AND c > 5000 GROUP BY name, k""".stripMargin
    )
  }

  test("rows that a limit takes in the order in which they come, and functions that depend on it") {
    whole(s"SELECT count(*) FROM (${byName("sum(n)")} LIMIT 3)")
    split(byName("sum(n)") + " ORDER BY name LIMIT 3")
    whole(s"SELECT sort_array(collect_list(s)) FROM (${byName("sum(n) AS s")})")
  }

  test("keys that are equal without equal bytes") {
    whole("SELECT s.zero, name, sum(n) FROM sales s JOIN customers ON customer = c GROUP BY s.zero, name")
    whole("SELECT name, sum(n) FROM sales s JOIN customers x ON s.zero = x.zero AND s.id = x.c GROUP BY name")
  }

  test("outer, semi and anti joins, null-safe keys and further conditions", Slow) {
    val functions = "count(*), count(n), sum(price), min(n), max(at), bit_or(n), avg(price)"
    split(byName(functions, "LEFT JOIN"))
    split(byName(functions, "RIGHT JOIN"))
    split(byName("count(*), count(name)", "LEFT JOIN"))
    split(
      "SELECT c, count(id), count(*), sum(n) FROM customers LEFT JOIN sales ON customer = c AND item > 45 GROUP BY c"
    )
    split("SELECT item, sum(n), count(*) FROM sales LEFT SEMI JOIN customers ON customer = c GROUP BY item")
    split("SELECT item, sum(n), count(*) FROM sales LEFT ANTI JOIN customers ON customer = c GROUP BY item")
    split(
      "SELECT name, sum(n), count(*) FROM sales LEFT JOIN customers ON customer <=> nullif(c, 5) GROUP BY name"
    )
    split(
      "SELECT name, sum(n) FROM sales JOIN customers ON customer = c AND item > length(city) GROUP BY name"
    )
    split("SELECT city, count(*) FROM sales JOIN customers ON customer < c - 990 GROUP BY city")
    // The side without all rows is built, which costs more than to look rows up.
    val built = same("SELECT c, count(id) FROM customers LEFT JOIN sales ON customer = c GROUP BY c")
    assert(keys(built) == Seq(Seq("customer")))
    // A function that does not skip the nulls of rows that the join adds.
    whole("SELECT c, sum(coalesce(n, 1)) FROM customers LEFT JOIN sales ON customer = c GROUP BY c")
    whole(
      "SELECT c, sum(n) FILTER (WHERE flag IS NULL) FROM customers LEFT JOIN sales ON customer = c GROUP BY c"
    )
    whole("SELECT c, count(n) FROM customers FULL JOIN sales ON customer = c GROUP BY c")
  }

  // Counts of rows without a match were -1: adaptive execution alone updates what may be null.
  test("counts below an outer join without adaptive execution") {
    conf("spark.sql.adaptive.enabled" -> "false") {
      val counts =
        "SELECT c, count(id), count(*) FROM customers LEFT JOIN sales ON customer = c AND item > 45"
      split(s"$counts GROUP BY c")
    }
  }

  test("a row of the other side that is repeated, several joins, and aggregates of all rows", Slow) {
    split("SELECT month, sum(n), count(*), avg(price) FROM sales JOIN days ON day = d GROUP BY month")
    split(
      "SELECT name, month, sum(n), count(*) FROM sales JOIN customers ON customer = c JOIN days ON day = d GROUP BY name, month"
    )
    split(
      "SELECT sum(n), count(*), avg(price) FROM sales JOIN customers ON customer = c JOIN days ON day = d"
    )
    split("SELECT sum(n), count(*), min(n) FROM sales JOIN customers ON customer = c WHERE name = 'none'")
    split(
      "SELECT name, count(*) FROM sales CROSS JOIN (SELECT name FROM customers LIMIT 3) GROUP BY name, item"
    )
    whole("SELECT sum(n), count(*) FROM sales CROSS JOIN days")
  }

  test("joins that give the query a key are moved below the aggregate of the tasks", Slow) {
    // The rows of a ticket have different items of few kinds. Spark joins customers first.
    table(
      "items",
      "SELECT cast(id AS int) AS i, cast(id % 3 AS int) AS m, id % 2 = 0 AS even FROM range(0, 50)"
    )
    val sql =
      "SELECT name, m, sum(n), count(*), max(price) FROM customers, sales, items WHERE customer = c AND item = i"
    Seq(s"$sql GROUP BY name, m", s"$sql AND even GROUP BY m, name, c")
      .foreach { q =>
        val df = conf(ReorderConf.ENABLED.key -> "false")(same(q))
        assert(keys(df).map(_.toSet) == Seq(Set("customer", "m")), q)
        split(q)
      }
    // Adaptive execution finds no rows below the aggregate and takes it away.
    conf(shuffled: _*)(split(s"$sql AND m + i > 500 GROUP BY name, m"))
    conf(shuffled: _*)(split(s"$sql AND m + i > 500 GROUP BY name, m ORDER BY m, name"))
  }

  test("conditions on columns of the other side are tested above", Slow) {
    def when(c: String) =
      s"sum(CASE WHEN $c THEN price END), sum(CASE WHEN $c THEN n ELSE NULL END), count(CASE WHEN $c THEN n END), " +
        s"count(CASE WHEN $c THEN 1 END), max(if($c, price, null)), avg(CASE WHEN $c THEN price END), min(n)"
    val sql = s"SELECT customer, ${when("month = 'month 1'")}, ${when("length(month) > 100")}, count(*)"
    Seq("JOIN", "LEFT JOIN", "RIGHT JOIN").foreach { join =>
      split(s"$sql FROM sales $join days ON day = d GROUP BY customer")
    }
    split(byName(s"${when("city IN ('city 1', 'city 3')")}, ${when("n > 100")}"))
  }

  test("DISTINCT, set operations, and keys that are computed", Slow) {
    split("SELECT DISTINCT name, day FROM sales JOIN customers ON customer = c")
    split(
      "SELECT name FROM sales JOIN customers ON customer = c INTERSECT SELECT name FROM customers WHERE city > 'city 3'"
    )
    split(
      "SELECT substr(name, 1, 18) AS s, day % 2, sum(n) FROM sales JOIN customers ON customer = c GROUP BY ALL"
    )
    split("SELECT upper(name), max(item) FROM sales JOIN customers ON customer = c GROUP BY 1 ORDER BY 1")
  }

  test("subqueries, without adaptive execution, and without generated code", Slow) {
    val sql = "SELECT name, sum(n) FROM sales JOIN customers ON customer = c GROUP BY name " +
      "HAVING sum(n) > (SELECT avg(s) FROM (SELECT sum(small) s FROM sales JOIN customers ON customer = c GROUP BY name))"
    split(sql)
    conf("spark.sql.adaptive.enabled" -> "false")(split(sql))
    conf("spark.sql.codegen.wholeStage" -> "false", "spark.sql.codegen.factoryMode" -> "NO_CODEGEN")(
      split(sql)
    )
    // A usual aggregate takes the place of the tasks' one.
    conf(SpringbokConf.FAIL_IN.key -> "PlanLocalAggregate")(split(sql))
    // The aggregates of the tasks have to sort.
    conf("spark.sql.TungstenAggregate.testFallbackStartsAt" -> "1000,2000")(split(sql))
  }

  test("ROLLUP, CUBE and GROUPING SETS repeat the rows that tasks leave", Smoke, Slow) {
    val functions = "sum(n), count(*), avg(n), max(price), sum(price) FILTER (WHERE flag)"
    val joined = "FROM sales JOIN customers ON customer = c"
    Seq(
      s"SELECT city, day, $functions $joined GROUP BY ROLLUP (city, day)",
      s"SELECT city, day, $functions, grouping(city), grouping_id() $joined GROUP BY CUBE (city, day)",
      s"SELECT city, day, $functions $joined GROUP BY GROUPING SETS ((city), (city), (day), ())",
      s"SELECT city, n, $functions $joined GROUP BY city, ROLLUP (n) HAVING sum(n) > 10",
      s"SELECT day, item, $functions FROM sales GROUP BY ROLLUP (day, item)",
      s"SELECT day, item, $functions FROM sales LEFT JOIN customers ON customer = c GROUP BY CUBE (day, item)",
      s"SELECT city, substr(name, 1, 18), day % 2, $functions $joined GROUP BY CUBE (city, substr(name, 1, 18), day % 2)",
      "SELECT day, count(DISTINCT item), count(DISTINCT tiny) FROM sales GROUP BY day",
      s"SELECT DISTINCT city, $functions $joined WHERE day > 500 GROUP BY ROLLUP (city)"
    ).foreach(split)
    // Rows above the expansion: each of the tasks' groups twice and once.
    val df = same("SELECT day, sum(n) FROM sales GROUP BY ROLLUP (day)")
    assert(keys(df) == Seq(Seq("day")))
    val rows = collect(executed(df)) { case e: ExpandExec => e.metrics("numOutputRows").value }
    assert(rows.sum < 200, rows)
    whole("SELECT day, zero, sum(n) FROM sales GROUP BY ROLLUP (day, zero)")
    whole("SELECT day, sum(double) FROM sales GROUP BY ROLLUP (day)")
    whole("SELECT day, sum(DISTINCT n), count(DISTINCT item), max(text) FROM sales GROUP BY day")
  }

  test("semi, anti and existence joins get each key of their right side once", Smoke, Slow) {
    val first = same("SELECT c FROM customers WHERE EXISTS (SELECT 1 FROM sales WHERE customer = c)")
    assert(keys(first) == Seq(Seq("customer")))
    assert(record(first).decisions.aggregates.map(_.reason.code) == Seq("AGGREGATED_FIRST"))
    Seq(
      "NOT EXISTS (SELECT 1 FROM sales WHERE customer = c)",
      "EXISTS (SELECT 1 FROM sales WHERE customer = c AND item = 3) OR city = 'city 3'",
      "EXISTS (SELECT 1 FROM sales WHERE customer <=> nullif(c, 5) AND day < c)",
      "c IN (SELECT customer FROM sales WHERE day > 3)",
      "c NOT IN (SELECT customer FROM sales WHERE day < 3)",
      "c NOT IN (SELECT customer FROM sales WHERE day < 3 AND customer IS NOT NULL)",
      "c IN (SELECT customer FROM sales JOIN days ON day = d WHERE month = 'month 1')",
      "(c, c % 10) NOT IN (SELECT customer, d FROM sales JOIN days ON day = d)"
    ).foreach(w => split(s"SELECT c, name FROM customers WHERE $w"))
    whole("SELECT c FROM customers x WHERE EXISTS (SELECT 1 FROM sales s WHERE s.zero = x.zero)")
    whole("SELECT c FROM customers WHERE c IN (SELECT customer FROM sales) LIMIT 3")
  }

  test(
    "of a column that is compared in one conjunct, the smallest and the largest value suffice",
    Smoke,
    Slow
  ) {
    def compared(condition: String, exists: String = "EXISTS"): Set[Seq[String]] = forced {
      val sql =
        s"FROM sales s WHERE id % 16 = 1 AND $exists (SELECT 1 FROM sales t WHERE t.day = s.day AND $condition)"
      keys(same(s"SELECT id $sql")).map(_.sorted).toSet
    }
    Seq(
      "t.n <> s.n",
      "s.item <> t.item",
      "t.n < s.n - 700",
      "s.n <= t.n",
      "t.n > s.n + 800",
      "s.n >= t.n",
      "t.n <> s.n + 1",
      "t.price <> s.price",
      "t.at > s.at"
    ).foreach(c => assert(compared(c, "NOT EXISTS") == Set(Seq("day")), c))
    // All values of a group are the same, or null.
    assert(compared("t.item <> s.item AND t.item = 1") == Set(Seq("day")))
    assert(compared("t.small <> s.small AND t.tiny = 3") == Set(Seq("day")))
    assert(compared("t.n <> s.n AND t.item <> s.item") == Set(Seq("day", "item")))
    assert(compared("t.n <> s.n AND t.n < 500 + s.item") == Set(Seq("day", "n")))
    assert(compared("t.n <> s.n AND t.tiny = s.tiny") == Set(Seq("day", "tiny")))
    assert(compared("NOT t.n <=> s.n") == Set(Seq("day", "n")))
    assert(compared("t.text <> s.text") == Set(Seq("day", "text")))
    assert(compared("t.double <> s.double").isEmpty)
  }

  // A fifth of the rows was taken to be a fifth of each file, in which keys repeat less.
  test("a join by a partition column leaves whole files") {
    table("folders", "SELECT customer, price, day FROM sales", partitionBy = Seq("day"))
    val df = same(
      "SELECT name, sum(price) FROM folders JOIN days ON day = d JOIN customers ON customer = c " +
        "WHERE month = 'month 2' GROUP BY name"
    )
    assert(local(df).nonEmpty && local(df).forall(_.retained < 0.2), execution(df).optimizedPlan)
  }

  test("a side that prunes partitions stays as it is") {
    table("parts", "SELECT id, cast(id % 10 AS int) AS part FROM range(0, 5000)", partitionBy = Seq("part"))
    whole("SELECT id FROM parts WHERE part IN (SELECT d FROM days WHERE month = 'month 1')")
    split("SELECT id FROM parts WHERE id IN (SELECT d FROM days WHERE month = 'month 1')")
  }

  test("a runtime filter passes the aggregate of the tasks") {
    conf(shuffled: _*) {
      val df = same(byName("sum(n), count(*)").replace("GROUP BY", "WHERE city = 'city 3' GROUP BY"))
      assert(local(df).nonEmpty)
      assert(used(df).nonEmpty)
      assert(passed(df) < 6000)
    }
  }
}

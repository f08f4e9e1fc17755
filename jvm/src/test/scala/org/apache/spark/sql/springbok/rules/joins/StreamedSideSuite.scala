package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.expressions.{BinaryExpression, Expression, Predicate}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.{Slow, SpringbokTest}
import org.apache.spark.sql.springbok.conf.{ClusterConf, PlanningConf, ReorderConf}
import org.apache.spark.sql.springbok.cost.{Constraint, JoinChoice, Strategy}
import org.apache.spark.sql.springbok.record.JoinDecision

/** A predicate of another extension: two numbers that differ by less than 2. */
case class Near(left: Expression, right: Expression) extends BinaryExpression with Predicate {
  override def nullSafeEval(a: Any, b: Any): Any = math.abs(a.asInstanceOf[Long] - b.asInstanceOf[Long]) < 2
  override def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    defineCodeGen(ctx, ev, (a, b) => s"Math.abs($a - $b) < 2")
  override protected def withNewChildrenInternal(l: Expression, r: Expression): Near = Near(l, r)
}

/** Queries whose answer, or whose success, depends on which side of a join is streamed. */
class StreamedSideSuite extends SpringbokTest {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    // Attributes whose text is a number only for keys that are in the other table.
    table(
      "attributes",
      "SELECT id % 20000 AS k, id AS n, if(id % 20000 < 50, 'x', '1') AS code, " +
        "concat('some text to fill the row ', id) AS t FROM range(200000)"
    )
    table("numbers", "SELECT id AS k, concat('name ', id) AS name FROM range(50, 20000)")
    table("names", "SELECT id AS k, id % 7 AS g FROM range(20000)")
  }

  private def first(sql: String): JoinDecision = record(same(sql)).joins.head.planned.get

  private def attributes(column: String) =
    s"SELECT sum(s.c), max(d.name) FROM (SELECT k, $column AS c FROM attributes WHERE n < 100) s " +
      "JOIN numbers d ON s.k = d.k"

  // The side was once built, where its cast saw rows without a match, and the query failed.
  test("a column that may raise an error is computed after the join, as Spark plans it") {
    conf(SQLConf.ANSI_ENABLED.key -> "true") {
      val kept = first(attributes("CAST(code AS INT)")).choice
      assert(kept.chosen == Strategy.Broadcast(BuildRight))
      assert(kept.constraint.exists(_.isInstanceOf[Constraint.RaisesEarlier]))
      // Otherwise the small side is built, also where the join's key needs the column.
      for (
        c <- Seq("try_cast(code AS INT)", "length(code)");
        choice = first(attributes(c)).choice
      ) assert(choice.chosen != Strategy.Broadcast(BuildRight) && choice.constraint.isEmpty, c)
    }
  }

  test("so is a column of an aggregate's result") {
    conf(SQLConf.ANSI_ENABLED.key -> "true") {
      val groups = "SELECT sum(s.c), max(d.name) FROM (SELECT k, 10 / sum(if(code = 'x', 0, 1)) AS c " +
        "FROM attributes WHERE n < 100 GROUP BY k) s JOIN numbers d ON s.k = d.k"
      assert(first(groups).choice.constraint.exists(_.isInstanceOf[Constraint.RaisesEarlier]))
    }
  }

  test("the same above another join, and where joins are reordered") {
    val sql = "SELECT sum(s.c), max(d.name), count(g) FROM " +
      "(SELECT a.k, CAST(a.code AS INT) AS c, a.n FROM attributes a WHERE a.n < 100) s " +
      "JOIN names g ON s.k = g.k JOIN numbers d ON s.k = d.k"
    conf(SQLConf.ANSI_ENABLED.key -> "true", ReorderConf.ENABLED.key -> "true") {
      val r = record(same(sql))
      assert(r.decisions.orders.exists(_.reason.code == "MAY_RAISE"), r.decisions.orders.map(_.reason))
      // The column passes an outer join that is one of the relations.
      val outer = sql.replace("WHERE a.n < 100)", "LEFT JOIN names o ON a.k = o.k WHERE a.n < 100)")
      assert(record(same(outer)).decisions.orders.exists(_.reason.code == "MAY_RAISE"))
      // A product of decimals with few digits cannot overflow.
      val product =
        sql.replace("CAST(a.code AS INT)", "CAST(a.k AS DECIMAL(22, 2)) * CAST(1.5 AS DECIMAL(7, 2))")
      assert(!record(same(product)).decisions.orders.exists(_.reason.code == "MAY_RAISE"))
    }
  }

  // The error was once raised for rows that the first join would have removed.
  test("so is a column of a condition of another join that is reordered") {
    def joined(condition: String) = "SELECT count(*), max(s.c) FROM " +
      "(SELECT k, n, CAST(code AS INT) AS c FROM attributes) s JOIN numbers d ON s.k = d.k " +
      s"JOIN (SELECT k AS n, g FROM names WHERE g = 3) b ON s.n = b.n AND $condition"
    def left(condition: String) =
      record(same(joined(condition))).decisions.orders.exists(_.reason.code == "MAY_RAISE")
    conf(SQLConf.ANSI_ENABLED.key -> "true", ReorderConf.ENABLED.key -> "true") {
      assert(left("(s.c > b.g OR b.g IS NULL OR b.g = 3)"))
      // Spark tests the column for null at the scan, so no row of this table must have an error there.
      val tested = joined("s.c < b.g").replace("FROM attributes", "FROM attributes WHERE code <> 'x'")
      assert(!record(same(tested)).decisions.orders.exists(_.reason.code == "MAY_RAISE"))
    }
  }

  test("a column below a sample or a union") {
    val column = "SELECT k, CAST(code AS INT) AS c FROM attributes WHERE n < "
    val sample = s"SELECT * FROM (${column}100) TABLESAMPLE (90 PERCENT) REPEATABLE (1)"
    // A union computes all columns where Spark has no such setting, which is before 4.2.
    val union = Option.when(spark.version >= "4.2")(s"${column}100 UNION ALL ${column}90")
    conf(SQLConf.ANSI_ENABLED.key -> "true", "spark.sql.codegen.wholeStage.union.enabled" -> "true") {
      for (s <- Seq(sample) ++ union) {
        val choice = first(s"SELECT sum(s.c), max(d.name) FROM ($s) s JOIN numbers d ON s.k = d.k").choice
        assert(choice.constraint.exists(_.isInstanceOf[Constraint.RaisesEarlier]), s)
      }
    }
  }

  // SPARK-52873: without it, a hash table has one row for each key, and the condition tests only this one.
  test(
    "a semi join whose condition reads more of the other side than a computed key is no shuffled hash join",
    Slow
  ) {
    val sql =
      "SELECT count(*) FROM attributes a LEFT SEMI JOIN (SELECT t FROM attributes WHERE n < 5000) b " +
        "ON substring(a.t, 1, 30) = substring(b.t, 1, 30) AND a.t >= b.t"
    def chosen(sql: String) = conf(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "-1") {
      record(same(sql)).joins.head.planned.get.choice
    }
    val hash = (c: JoinChoice) => c.alternatives.filter(_.strategy == Strategy.ShuffledHash(BuildRight))
    assert(hash(chosen(sql)).forall(_.ruledOut.isDefined))
    assert(hash(chosen(sql.replace(" AND a.t >= b.t", ""))).exists(_.ruledOut.isEmpty))
  }

  test("a query that one task computes") {
    val sql = attributes("CAST(code AS INT)")
    conf(
      SQLConf.ANSI_ENABLED.key -> "true",
      ClusterConf.EXECUTORS.key -> "1",
      ClusterConf.CORES.key -> "1",
      PlanningConf.BUDGET.key -> "0.01"
    )(same(sql))
  }

  // The name was once empty: the side with the file was built.
  test("a join below an expression that tells which file is read stays as Spark plans it") {
    val sql = "SELECT DISTINCT substring_index(input_file_name(), '.', -1), input_file_block_start() >= 0 " +
      "FROM attributes a JOIN range(20000) r ON a.k = r.id WHERE a.n < 100"
    assert(first(sql).choice.constraint.contains(Constraint.ReadsOpenFile))
    val semi = "SELECT DISTINCT substring_index(input_file_name(), '.', -1) FROM attributes WHERE n < 100 " +
      "AND k IN (SELECT k FROM names WHERE g < 5)"
    assert(first(semi).choice.constraint.contains(Constraint.ReadsOpenFile))
  }

  // Sedona's spatial join once got a BROADCAST hint from Springbok, and broadcast an index.
  test("a join by a function of another extension stays as it is, unless it has an equality as well") {
    spark.sessionState.functionRegistry.createOrReplaceTempFunction(
      "near",
      args => Near(args.head, args(1)),
      "scala_udf"
    )
    val by = "SELECT count(*) FROM names a JOIN (SELECT k, g FROM names WHERE k < 50) b ON near(a.k, b.k)"
    assert(first(by).choice.constraint.contains(Constraint.ConditionOfExtension))
    assert(first(s"$by AND a.g = b.g").choice.constraint.isEmpty)
  }
}

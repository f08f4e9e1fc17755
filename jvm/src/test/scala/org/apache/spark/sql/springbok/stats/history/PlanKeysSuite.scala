package org.apache.spark.sql.springbok.stats.history

import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join}
import org.apache.spark.sql.functions.udf

/** Which parts of queries are the same. */
class PlanKeysSuite extends HistoryTest {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("a", "SELECT id AS k, id % 7 AS g, concat('t', id) AS t FROM range(1000)")
    table("b", "SELECT id AS k, id % 5 AS h, concat('u', id) AS u FROM range(1000)")
    table("c", "SELECT id AS k, id % 3 AS i FROM range(1000)")
    spark.udf.register("own", udf((x: Long) => x + 1)): Unit
  }

  private def key(sql: String, literals: Boolean = true): Option[Digest] =
    new PlanKeys(literals)(optimized(sql))

  private def equal(x: String, y: String, literals: Boolean = true): Boolean = {
    val (k, l) = (key(x, literals), key(y, literals))
    assert(k.isDefined && l.isDefined, s"$x, $y")
    k == l
  }

  test("the same query twice has one key, although its attributes have other numbers") {
    for {
      sql <- Seq(
        "SELECT * FROM a WHERE g = 3 AND t LIKE '%9' AND t LIKE '%1_7' AND t RLIKE '[0-9]' AND upper(t) <> 'X'",
        "SELECT a.g, count(*) FROM a JOIN b ON a.k = b.k GROUP BY a.g HAVING count(*) > 2",
        "SELECT * FROM a LEFT JOIN b ON a.k = b.k AND b.h > 1",
        "SELECT * FROM a WHERE k IN (SELECT k FROM b WHERE h = 1)",
        "SELECT * FROM a WHERE k NOT IN (SELECT k FROM b WHERE h = 1)",
        "SELECT g, k, count(*) FROM a GROUP BY g, k WITH ROLLUP",
        "SELECT k FROM a UNION ALL SELECT k FROM b",
        "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY g ORDER BY k) AS n FROM a)",
        "SELECT k, e FROM a LATERAL VIEW explode(array(k, g)) AS e",
        "SELECT x.k FROM a x JOIN a y ON x.k = y.g WHERE x.g = 1"
      )
    } assert(equal(sql, sql), sql)
  }

  test("the order of joins, conjuncts and operands does not matter") {
    assert(equal("SELECT * FROM a JOIN b ON a.k = b.k", "SELECT * FROM b JOIN a ON b.k = a.k"))
    assert(equal("SELECT * FROM a WHERE g = 3 AND k > 5", "SELECT * FROM a WHERE 5 < k AND 3 = g"))
    assert(
      equal(
        "SELECT /*+ NO_REORDER */ * FROM (SELECT a.k FROM a JOIN b ON a.k = b.k) x JOIN c ON x.k = c.k",
        "SELECT * FROM a JOIN (SELECT b.k FROM b) y ON a.k = y.k JOIN c ON a.k = c.k"
      )
    )
    assert(equal("SELECT * FROM a WHERE k IN (1, 2, 3)", "SELECT * FROM a WHERE k IN (3, 1, 2)"))
    assert(
      equal("SELECT * FROM a RIGHT JOIN b ON a.k = b.k", "SELECT * FROM b LEFT JOIN a ON a.k = b.k")
    )
  }

  test("of equal columns only the class matters") {
    val from = "SELECT * FROM a JOIN b JOIN c WHERE"
    assert(equal(s"$from a.k = b.k AND b.k = c.k", s"$from a.k = b.k AND a.k = c.k"))
    assert(equal(s"$from a.k = b.k AND b.k = c.k AND a.k = c.k", s"$from c.k = b.k AND a.k = c.k"))
    assert(!equal(s"$from a.k = b.k AND b.k = c.k", s"$from a.k = b.k AND b.h = c.k"))
  }

  test("names of results and projections do not matter") {
    assert(equal("SELECT k AS x, g + 1 AS y FROM a WHERE g = 3", "SELECT t FROM a WHERE g = 3 ORDER BY t"))
    assert(equal("SELECT x FROM (SELECT k + g AS x FROM a) WHERE x > 5", "SELECT k FROM a WHERE g + k > 5"))
  }

  test("what decides the rows does matter") {
    for {
      (x, y) <- Seq(
        "SELECT * FROM a WHERE g = 3" -> "SELECT * FROM a WHERE g = 4",
        "SELECT * FROM a WHERE g = 3" -> "SELECT * FROM a WHERE k = 3",
        "SELECT * FROM a WHERE g > 3" -> "SELECT * FROM a WHERE g < 3",
        "SELECT k FROM a" -> "SELECT k FROM b",
        "SELECT * FROM a LEFT JOIN b ON a.k = b.k" -> "SELECT * FROM b LEFT JOIN a ON a.k = b.k",
        "SELECT * FROM a LEFT JOIN b ON a.k = b.k" -> "SELECT * FROM a JOIN b ON a.k = b.k",
        "SELECT * FROM a LEFT SEMI JOIN b ON a.k = b.k" -> "SELECT * FROM a LEFT ANTI JOIN b ON a.k = b.k",
        "SELECT g, count(*) FROM a GROUP BY g" -> "SELECT k, count(*) FROM a GROUP BY k",
        "SELECT g FROM a GROUP BY g HAVING sum(k) > 9" -> "SELECT g FROM a GROUP BY g HAVING max(k) > 9",
        "SELECT x.k FROM a x JOIN a y ON x.k = y.g" -> "SELECT x.k FROM a x JOIN a y ON x.k = y.k",
        "SELECT x.k FROM a x JOIN a y ON x.k = y.g WHERE x.g = 1" ->
          "SELECT x.k FROM a x JOIN a y ON x.k = y.g WHERE y.g = 1"
      )
    } assert(!equal(x, y), s"$x, $y")
  }

  test("without literals, conditions of one form are the same") {
    assert(equal("SELECT * FROM a WHERE t LIKE '%3'", "SELECT * FROM a WHERE t LIKE '%77'", literals = false))
    assert(!equal("SELECT * FROM a WHERE t = 'x'", "SELECT * FROM a WHERE t > 'x'", literals = false))
  }

  test("what is not deterministic or not known has no key") {
    for {
      sql <- Seq(
        "SELECT * FROM a WHERE rand() < 0.5",
        "SELECT * FROM a WHERE own(k) = 3",
        "SELECT * FROM (SELECT * FROM a LIMIT 10) WHERE g = 1",
        "SELECT * FROM a TABLESAMPLE (10 PERCENT)",
        "SELECT * FROM a WHERE k > (SELECT avg(k) FROM b)",
        "SELECT x FROM (SELECT k, uuid() AS x FROM a) WHERE x > 'a'"
      )
    } assert(key(sql).isEmpty, sql)
    // A column that nothing reads does not matter.
    assert(equal("SELECT k, rand() AS x FROM a", "SELECT k FROM a"))
  }

  test("a part of a query has the key that it has alone") {
    val keys = new PlanKeys(literals = true)
    val joined = optimized("SELECT * FROM a JOIN b ON a.k = b.k JOIN c ON b.k = c.k WHERE a.g = 1")
    val filters = joined.collect { case f: Filter => keys(f) }.flatten.toSet
    val alone = optimized("SELECT * FROM a WHERE g = 1 AND k IS NOT NULL")
    assert(filters.contains(keys(alone).get))
    val joins = joined.collect { case j: Join => keys(j) }
    assert(joins.size == 2 && joins.forall(_.isDefined) && joins.distinct.size == 2)
  }

  test("all parts of a query of 20 joins have keys") {
    val tables = (1 to 20).map(i => s"JOIN b t$i ON a.k = t$i.k AND t$i.h <> $i").mkString(" ")
    val plan = optimized(s"SELECT * FROM a $tables")
    // The first rounds warm up. Nothing is asserted of times.
    val ms = (1 to 20).map { _ =>
      val (keys, start) = (new PlanKeys(literals = true), System.nanoTime())
      assert(plan.collect { case p => keys(p) }.forall(_.isDefined))
      (System.nanoTime() - start) / 1e6
    }
    info(f"${ms.head}%.1f ms at first, ${ms.min}%.1f ms at last")
  }
}

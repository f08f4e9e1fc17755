package org.apache.spark.sql.springbok.keys

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  BoundReference,
  EvalMode,
  Expression,
  IntegralDivide,
  IsNull,
  Literal,
  UnsafeProjection
}
import org.apache.spark.sql.springbok.{Smoke, SpringbokTest}
import org.apache.spark.sql.types.LongType

/** Keys that might raise an error at the scan, as ANSI arithmetic and casts do. */
class TriedKeySuite extends SpringbokTest {
  override protected def sessionConf: Map[String, String] =
    super.sessionConf ++ shuffled + ("spark.sql.ansi.enabled" -> "true")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    val columns = "CAST(id % 2000 AS INT) AS num, CAST(id % 2000 AS STRING) AS str"
    table("fact", s"SELECT id, CAST(id % 20 AS INT) AS few, $columns FROM range(60000)")
    table("words", "SELECT id, IF(id = 777, 'x', str) AS str FROM fact")
    table(
      "dim",
      s"SELECT id % 40 AS grp, date_add(DATE'2000-01-01', CAST(id AS INT)) AS day, $columns FROM range(2000)"
    )
    table("three", "SELECT CAST(3 AS INT) AS x")
  }

  private val some = "(SELECT * FROM dim WHERE grp = 0) d"

  private def why(df: DataFrame) = record(df).filters.all.map(f => (f.sourceKey, f.state, f.reason.text))

  private def tried(df: DataFrame): Boolean = applied(df).exists(f => TriedKey.is(f.key))

  for (
    strategy <- Seq("SHUFFLE_HASH", "MERGE");
    on <- Seq(
      "f.num + 1 = d.num",
      "CAST(f.str AS INT) = d.num",
      "f.str = d.num",
      "60000 DIV (f.num + 1) = d.num",
      "f.num / 4 = d.num / 4",
      "CAST(f.id % 2000 AS SMALLINT) = d.num",
      "date_add(DATE'2000-01-01', f.num) = d.day"
    )
  )
    test(s"$strategy, $on") {
      val df = same(s"SELECT /*+ $strategy(d) */ f.id, d.grp FROM fact f JOIN $some ON $on")
      assert(tried(df) && used(df).nonEmpty, why(df))
      assert(passed(df) < 20000, passed(df))
      // The keys are spread over the whole of the only row group.
      assert(notTold(df).nonEmpty && told(df).forall(_.isLeft), told(df))
    }

  test("without generated code", Smoke) {
    conf("spark.sql.codegen.wholeStage" -> "false", "spark.sql.codegen.factoryMode" -> "NO_CODEGEN") {
      val df = same(s"SELECT /*+ MERGE(d) */ f.id, d.grp FROM fact f JOIN $some ON f.num + 1 = d.num")
      assert(tried(df) && passed(df) < 20000, why(df))
    }
  }

  test("rows whose key raises an error at the scan pass, and the query drops them as before") {
    val df = same(
      s"SELECT f.id, d.grp FROM fact f JOIN three t ON f.few <> t.x JOIN $some ON f.num DIV (f.few - 3) = d.num"
    )
    assert(tried(df) && used(df).nonEmpty, why(df))
  }

  // What a key has twice was once computed before the key, where nothing catches its error.
  test("a key that computes a part of it twice") {
    val key = "(60 DIV (f.few - 3)) * 100 + (60 DIV (f.few - 3)) % 7"
    for (wholeStage <- Seq("true", "false"))
      conf("spark.sql.codegen.wholeStage" -> wholeStage, "spark.sql.codegen.factoryMode" -> "CODEGEN_ONLY") {
        val df =
          same(
            s"SELECT /*+ RUNTIME_FILTER(d) */ f.id, d.grp FROM fact f JOIN three t ON f.few <> t.x JOIN $some ON $key = d.num"
          )
        assert(tried(df) && used(df).nonEmpty, why(df))
      }
  }

  test("a query that fails by a row's key fails with the filter, which would have removed the row") {
    val sql = s"SELECT f.id, d.grp FROM words f JOIN $some ON CAST(f.str AS INT) = d.num"
    assert(intercept[Exception](off(spark.sql(sql).collect())).toString.nonEmpty)
    val df = spark.sql(sql)
    val error = intercept[Exception](df.collect())
    assert(tried(df), why(df))
    assert(
      Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).exists(_.toString.contains("'x'"))
    )
  }

  test("user code, groups and rows in no fixed order get no such filter") {
    spark.udf.register("plus", (n: Int) => n + 1): Unit
    val (groups, keys) = ("SELECT num, count(*) n FROM fact GROUP BY num", "f.num DIV 2 = d.num")
    spark.sql("CACHE TABLE spread AS SELECT /*+ REPARTITION(2, num) */ num FROM fact"): Unit
    for (
      from <- Seq(
        s"fact f JOIN $some ON plus(f.num) = d.num",
        s"($groups) f JOIN $some ON $keys",
        s"spread f JOIN $some ON $keys"
      )
    ) {
      val df = same(s"SELECT /*+ MERGE(d) */ f.num, d.grp FROM $from")
      assert(!tried(df) && declined(df).contains("KEY_EXPRESSION"), (from, why(df)))
    }
    spark.sql("UNCACHE TABLE spread"): Unit
  }

  private val divided: Expression = IntegralDivide(
    BoundReference(0, LongType, nullable = false),
    BoundReference(1, LongType, nullable = false),
    EvalMode.ANSI
  )

  test("a task that has met many errors computes no more keys") {
    def results(divide: InternalRow => Any) = {
      val (raising, fine) = (InternalRow(4L, 0L), InternalRow(4L, 2L))
      val before = Seq.fill(TriedKey.mostErrors - 1)(divide(raising)).distinct :+ divide(fine)
      before ++ Seq(divide(raising), divide(fine))
    }
    val interpreted = TriedKey(divided)
    assert(results(interpreted.eval) == Seq[Any](null, 2L, null, null))
    val generated = UnsafeProjection.create(Seq(TriedKey(divided)))
    def first(row: InternalRow): Any = {
      val made = generated(row)
      if (made.isNullAt(0)) null else made.getLong(0)
    }
    assert(results(first) == Seq[Any](null, 2L, null, null))
  }

  test("a build side without keys lets rows pass whose key is unknown") {
    assert(TriedKey.unknown(TriedKey(divided)) == IsNull(TriedKey(divided)))
    assert(TriedKey.unknown(divided) == Literal.FalseLiteral)
  }
}

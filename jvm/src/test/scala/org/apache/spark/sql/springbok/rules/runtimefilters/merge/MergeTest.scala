package org.apache.spark.sql.springbok.rules.runtimefilters.merge

import scala.util.Try

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.springbok.{Slow, Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.conf.{MergeConf, SpringbokConf}
import org.apache.spark.sql.springbok.report.SpringbokReport
import org.apache.spark.sql.springbok.report.model.ReasonEntry
import org.apache.spark.sql.util.QueryExecutionListener
import org.scalatest.Assertion

/** What a MERGE has left. */
final case class Merged(
    rows: Either[String, Seq[String]],
    metrics: Map[String, String],
    files: Long,
    reason: Option[ReasonEntry]
) {
  def code: String = reason.fold("none")(_.code)
}

/** MERGE with the rule and without: equal tables, equal metrics, equal errors. */
abstract class MergeTest extends SpringbokTest {
  override protected def sessionConf: Map[String, String] = super.sessionConf ++
    Map(MergeConf.ENABLED.key -> "true", MergeConf.MIN_TARGET.key -> "0")

  protected val columns: String =
    """id, id DIV 10 AS tens, CAST(id AS INT) AS i, lpad(id, 8, '0') AS code, CAST(id AS DECIMAL(12, 2)) / 4 AS price,
      |date_add(DATE'2024-01-01', CAST(id DIV 100 AS INT)) AS day, CAST(id AS DOUBLE) AS x""".stripMargin

  /** A table of ten files, in the order of `id`, and more of the statement that creates it. */
  protected def target(name: String, more: String): Unit

  /** The name of a table in statements. */
  protected def named(name: String): String = name

  /** Numbers that the table's history has of its last version. */
  protected def metrics(name: String): Map[String, String]

  /** Files that a query has read of a table with these columns. */
  protected def filesRead(qe: QueryExecution): Long

  private var tables = 0

  /**
   * Runs a MERGE into a table and into an equal one without the rule, and compares the two.
   *
   * @param merge
   *   the statement, of the name of the table
   * @param more
   *   what creates the table
   * @param skips
   *   whether files lie outside of the keys
   */
  protected def merged(more: String = "", skips: Boolean = true)(merge: String => String): Merged = {
    val on = one(more, merge)
    val without = conf(MergeConf.ENABLED.key -> "false")(one(more, merge))
    assert(on.rows == without.rows)
    assert(on.metrics == without.metrics, (on.reason, without.reason))
    assert(without.reason.isEmpty)
    if (on.code == "CONDITION_ADDED" && skips)
      assert(on.files < without.files || without.files == 0, (on.files, without.files, on.reason))
    on
  }

  /** The name of a new table. */
  protected def fresh(more: String = ""): String = {
    tables += 1
    target(s"t$tables", more)
    s"t$tables"
  }

  private def one(more: String, merge: String => String): Merged = {
    val name = fresh(more)
    val (reads, files) = counted {
      Try(spark.sql(merge(named(name)))).map { df => df.collect(); df }
    }
    val rows = reads.map(_ => sorted(spark.sql(s"SELECT * FROM ${named(name)}").collect()))
    Merged(
      rows.toEither.left.map(wrong),
      if (reads.isSuccess) metrics(name) else Map.empty,
      files,
      reads.toOption.flatMap(reason)
    )
  }

  private def wrong(e: Throwable): String =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).map(_.getClass.getName).toSeq.last

  protected def reason(df: DataFrame): Option[ReasonEntry] =
    SpringbokReport.of(execution(df)).sink.flatMap(_.pruning)

  /** Files of tables that queries have read meanwhile. */
  protected def counted[T](body: => T): (T, Long) = {
    var n = 0L
    val listener = new QueryExecutionListener {
      override def onSuccess(name: String, qe: QueryExecution, ns: Long): Unit = n += filesRead(qe)
      override def onFailure(name: String, qe: QueryExecution, e: Exception): Unit = ()
    }
    spark.listenerManager.register(listener)
    try {
      val result = body
      spark.sparkContext.listenerBus.waitUntilEmpty()
      (result, n)
    } finally spark.listenerManager.unregister(listener)
  }

  protected val upsert: String =
    "WHEN MATCHED THEN UPDATE SET tens = -1, code = s.c WHEN NOT MATCHED THEN INSERT (id, tens) VALUES (s.k, -2)"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("few", "SELECT id AS k, CAST(id AS STRING) AS c FROM range(7050, 7060)")
    table("many", "SELECT id AS k, CAST(id AS STRING) AS c FROM range(7000, 7100)")
    table("both", "SELECT * FROM many UNION ALL SELECT id, 'new' FROM range(20000, 20010)")
    table("scattered", "SELECT id * 100 AS k, 'x' AS c FROM range(100)")
    table("nothing", "SELECT * FROM few WHERE k < 0")
    table("nulls", "SELECT IF(k % 2 = 0, k, NULL) AS k, c FROM many")
    table("parted", "SELECT k, c, k % 3 AS p FROM many", partitionBy = Seq("p"))
    table("twice", "SELECT * FROM few UNION ALL SELECT k, 'again' FROM few")
  }

  protected def of(source: String, on: String = "t.id = s.k", clauses: String = upsert): String => String =
    name => s"MERGE INTO $name t USING $source s ON $on $clauses"

  protected def added(source: String, on: String = "t.id = s.k", clauses: String = upsert): Assertion = {
    val m = merged()(of(source, on, clauses))
    assert(m.code == "CONDITION_ADDED", m.reason)
  }

  /** The statement stays as it is, so its result needs no comparison. */
  protected def kept(
      code: String,
      why: String,
      source: String,
      on: String = "t.id = s.k",
      more: String = ""
  ): Assertion = {
    val found = reason(spark.sql(of(source, on)(named(fresh(more)))))
    assert(found.exists(r => r.code == code && r.text.contains(why)), (source, found))
  }

  test("matched rows are updated, others inserted", Smoke, Slow) {
    val m = merged()(of("both"))
    assert(
      m.code == "CONDITION_ADDED" && m.reason.exists(_.text.contains("110 of id, ranges: 2")),
      m.reason
    )
  }

  test("few keys become a list", Slow)(added("few"))

  test("matched rows are deleted", Slow)(added("many", clauses = "WHEN MATCHED THEN DELETE"))

  test("only rows without a match are inserted", Slow) {
    merged()(of("both", clauses = "WHEN NOT MATCHED THEN INSERT (id, tens) VALUES (s.k, 0)"))
  }

  test("clauses with conditions of their own", Slow) {
    added(
      "both",
      clauses =
        """WHEN MATCHED AND t.id % 3 = 0 THEN DELETE WHEN MATCHED AND s.c > '7050' THEN UPDATE SET tens = 0
          |WHEN NOT MATCHED AND s.k > 20004 THEN INSERT (id, i) VALUES (s.k, 1)""".stripMargin
    )
  }

  test("keys that are null match nothing", Slow)(added("nulls"))

  test("keys that are compared with <=> are not used", Slow) {
    kept("TARGET_KEPT", "no plain column", "nulls", on = "t.id <=> s.k")
  }

  test("a source without rows")(added("nothing"))

  test("a row that matches twice raises an error") {
    val m = merged()(of("twice"))
    assert(m.rows.isLeft)
  }

  test("composite keys", Slow) {
    val m = merged()(of("both", on = "t.tens = s.k DIV 10 AND s.k = t.id"))
    assert(m.reason.exists(r => r.text.contains("of id") && r.text.contains("of tens")), m.reason)
  }

  test("conditions beside the keys, which are computed from a source in partitions", Slow) {
    val on = "t.id = s.k + 1 - 1 AND t.i % 2 = 0 AND s.c <> '7004' AND t.tens < s.k"
    added("(SELECT * FROM parted WHERE p < 2)", on)
  }

  test("keys of each type", Slow) {
    val m = merged()(
      of(
        "many",
        on = """t.i = CAST(s.k AS INT) AND t.code = lpad(s.k, 8, '0')
      |AND t.price = CAST(s.k AS DECIMAL(12, 2)) / 4
      |AND t.day = date_add(DATE'2024-01-01', CAST(s.k DIV 100 AS INT))""".stripMargin
      )
    )
    val text = m.reason.fold("")(_.text)
    assert(
      m.code == "CONDITION_ADDED" && Seq("i", "code", "price", "day").forall(c => text.contains(s"of $c")),
      text
    )
  }

  test("floating-point keys are not used", Slow)(
    kept("TARGET_KEPT", "no plain column", "few", on = "t.x = CAST(s.k AS DOUBLE)")
  )

  test("scattered keys become one range, which skips nothing", Slow) {
    val m = merged(skips = false)(of("scattered"))
    assert(m.reason.exists(_.text.contains("100 of id, ranges: 1")), m.reason)
  }

  test("rows that are not matched by the source", Slow) {
    val m = merged()(of("both", clauses = s"$upsert WHEN NOT MATCHED BY SOURCE AND t.id < 50 THEN DELETE"))
    assert(m.code == "TARGET_KEPT" && m.reason.exists(_.text.contains("NOT MATCHED BY SOURCE")), m.reason)
  }

  test("sources that may differ when they are read again", Slow) {
    for (
      (source, why) <- Seq(
        "(SELECT * FROM many WHERE rand() < 0.5)" -> "expressions that may differ",
        "(SELECT * FROM many LIMIT 3)" -> "may differ",
        "(SELECT first(k) AS k, 'x' AS c FROM many GROUP BY k % 2)" -> "keys may differ",
        "(SELECT k, c FROM (SELECT *, row_number() OVER (PARTITION BY k % 7 ORDER BY c) AS n FROM many) WHERE n = 1)" ->
          "keys may differ"
      )
    )
      kept("SOURCE_KEPT", why, source)
    conf("spark.sql.ansi.enabled" -> "true") {
      spark.udf.register("mine", (n: Long) => n)
      kept("SOURCE_KEPT", "expressions that may differ", "(SELECT mine(k) AS k, c FROM many)")
    }
    spark.range(7000, 7010).selectExpr("id AS k", "'x' AS c").cache().createOrReplaceTempView("cached")
    kept("SOURCE_KEPT", "cached", "cached")
    val rows = spark.createDataFrame(spark.table("many").toJavaRDD, spark.table("many").schema)
    rows.createOrReplaceTempView("of_rdd")
    kept("SOURCE_KEPT", "may change between", "of_rdd")
  }

  test("the latest change of each key", Slow) {
    added("""(SELECT k, c FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY c DESC) AS n
            |FROM (SELECT k, 'new' AS c FROM many)) WHERE n = 1)""".stripMargin)
    added("(SELECT k, max(c) AS c, first(c) AS d FROM twice GROUP BY k)")
  }

  test("a source that fails raises the same error") {
    val m = merged()(of("(SELECT CAST(concat(c, 'x') AS BIGINT) AS k, c FROM many)"))
    assert(m.rows.isLeft)
  }

  test("EXPLAIN reads no keys") {
    val (_, files) = counted(spark.sql(s"EXPLAIN ${of("many")(named(fresh()))}").collect())
    assert(files == 0)
  }

  test("small targets, large sources, and the switch", Slow) {
    conf(MergeConf.MIN_TARGET.key -> "1g")(kept("TARGET_KEPT", "are worth a look", "many"))
    kept("SOURCE_KEPT", "are read twice", "(SELECT id AS k, 'x' AS c FROM range(1000000) WHERE id < 10)")
  }

  test("a failure leaves the statement as it is", Slow) {
    conf(SpringbokConf.FAIL_IN.key -> "PruneMergeTarget")(merged()(of("both")))
  }
}

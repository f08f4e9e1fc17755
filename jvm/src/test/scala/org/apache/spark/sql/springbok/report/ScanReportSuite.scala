package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.conf.ReportConf
import org.apache.spark.sql.springbok.report.model.{
  AggregateEntry,
  AggregateFunctionEntry,
  QueryReport,
  TableEntry
}

/** What the report says of scans, aggregates and the scope of runtime filters. */
class ScanReportSuite extends SpringbokTest {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table(
      "facts",
      "SELECT id % 5000 AS k, id AS v, id % 4 AS day FROM range(100000)",
      partitionBy = Seq("day")
    )
    table("keys", "SELECT id AS k, id % 50 AS g, concat('name ', id) AS n FROM range(5000)")
  }

  private val query =
    "SELECT k.g, sum(f.v) AS s FROM facts f JOIN keys k ON f.k = k.k WHERE f.day = 3 AND f.v > 17 AND k.g = 7 GROUP BY k.g"

  private def report(df: DataFrame): QueryReport = SpringbokReport.of(execution(df))
  private def entry(r: QueryReport, name: String): TableEntry = r.tables.find(_.name.contains(name)).get
  private def ran(sql: String): DataFrame = {
    val df = spark.sql(sql)
    df.collect(): Unit
    df
  }

  test("a scan has the conditions on partitions and on other columns, and its runtime filters") {
    val df = spark.sql(query)
    for (state <- Seq("planned", "executed")) {
      if (state == "executed") df.collect(): Unit
      val r = report(df)
      assert(r.state == state)
      val facts = entry(r, "facts")
      assert(facts.partitionFilters == Seq("(day IS NOT NULL)", "(day = 3)"), facts)
      assert(facts.pushedFilters == Seq("(v IS NOT NULL)", "(v > 17L)", "(k IS NOT NULL)"), facts)
      assert(facts.runtimeFilters == Seq("RF000") && facts.slots.map(_.column) == Seq("k", "v", "day"), facts)
      assert(entry(r, "keys").runtimeFilters.isEmpty && entry(r, "keys").partitionFilters.isEmpty)
    }
  }

  test("the tasks of a scan are known when it has run, and what was read of its partitions") {
    val df = spark.sql(query)
    assert(report(df).tables.forall(t => t.tasks.isEmpty && t.filesRead.isEmpty))
    df.collect(): Unit
    val scans = collectWithSubqueries(executed(df)) { case s: FileSourceScanExec => s }
    val facts = entry(report(df), "facts")
    assert(
      facts.tasks.contains(scans.find(_.output.exists(_.name == "v")).get.inputRDD.getNumPartitions.toLong)
    )
    assert(facts.partitionsRead.contains(1L) && facts.partitions.contains(4L) && facts.filesRead.contains(1L))
  }

  test("the keys of a runtime filter that were pushed to a scan are not in its conditions") {
    val df = ran("SELECT f.v FROM facts f JOIN keys k ON f.k = k.k WHERE k.n = 'name 4321'")
    val facts = entry(report(df), "facts")
    assert(facts.pushedFilters == Seq("(k IS NOT NULL)"), facts)
    assert(facts.runtimeFilters == Seq("RF000"), facts)
  }

  test("conditions are redacted, and can be without their literals") {
    val sql = "SELECT f.v FROM facts f JOIN keys k ON f.k = k.k WHERE k.n = 'secret7' AND f.day = 2"
    conf("spark.sql.redaction.string.regex" -> "(?i)secret\\w*")(
      assert(!SpringbokReport.json(execution(spark.sql(sql))).contains("secret"))
    )
    conf(ReportConf.LITERALS.key -> "false") {
      val r = report(spark.sql(sql))
      assert(
        entry(r, "keys").pushedFilters.contains("(n = ?)") && entry(r, "facts").partitionFilters.contains(
          "(day = ?)"
        )
      )
    }
  }

  private def aggregates(r: QueryReport): Seq[AggregateEntry] =
    r.fragments.flatMap(_.nodes).flatMap(_.aggregate)

  test("an aggregate has its phase, its keys and its functions") {
    def of(phase: String) =
      AggregateEntry(phase, Seq("g"), Seq("sum(v)", "count(1)").map(AggregateFunctionEntry(_, phase)))
    val r = report(ran("SELECT k.g, sum(f.v), count(*) FROM facts f JOIN keys k ON f.k = k.k GROUP BY k.g"))
    assert(aggregates(r) == Seq(of("partial"), of("final")))
    val groups = aggregates(report(ran("SELECT DISTINCT g FROM keys")))
    assert(groups == Seq(AggregateEntry("partial", Seq("g"), Nil), AggregateEntry("final", Seq("g"), Nil)))
  }

  test("an aggregate of distinct values merges first, and each function has its own phase") {
    val found = aggregates(report(ran("SELECT g, count(DISTINCT n), sum(k) FROM keys GROUP BY g")))
    // From the scan up: sums of each value, merged, then merged and counted, then the result.
    assert(found.map(_.phase) == Seq("partial", "mixed", "merge", "final"), found)
    val Some(mixed) = found.find(_.phase == "mixed"): @unchecked
    assert(
      mixed.functions.map(f => f.function -> f.phase).toMap ==
        Map("count(DISTINCT n)" -> "partial", "sum(k)" -> "merge"),
      mixed
    )
  }

  test("a filter is local where its scan runs in the fragment of its join, and global behind an exchange") {
    val sql = "SELECT f.v FROM facts f JOIN keys k ON f.k = k.k WHERE k.g = 7"
    def scopes(df: DataFrame) = report(df).filters.filter(_.id.isDefined).map(_.scope)
    for (run <- Seq(false, true)) {
      def made(): DataFrame = if (run) ran(sql) else spark.sql(sql)
      assert(scopes(made()) == Seq(Some("local")))
      conf(shuffled: _*)(assert(scopes(made()) == Seq(Some("global"))))
    }
  }
}

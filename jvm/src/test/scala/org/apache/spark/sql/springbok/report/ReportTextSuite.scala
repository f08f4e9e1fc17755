package org.apache.spark.sql.springbok.report

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import org.apache.spark.sql.springbok.report.model._
import org.scalatest.funsuite.AnyFunSuite

/** Texts of a report that was recorded: `tests/golden/q3-executed.json` and the texts beside it. */
class ReportTextSuite extends AnyFunSuite {
  private val recorded = {
    val file = Paths.get("tests", "golden", "q3-executed.json")
    ReportJson.read(new String(Files.readAllBytes(file), UTF_8))
  }
  private val filter = recorded.filters.head

  private def reason(code: String, text: String, setting: String) =
    ReasonEntry(code, text, Some(setting), Map.empty)

  private def screen(r: QueryReport): String = ReportText.into(r).texts.get.summary

  test("the recorded texts are those that are made of the record today") {
    assert(ReportText.into(recorded) == recorded)
  }

  test("what to change has only what is expected to help") {
    // The demo ended with the advice to lower minBenefitMs for a filter that would have saved 5 ms.
    val small =
      reason("SMALL_BENEFIT", "it would save about 4.9 ms; the least is 5.0 ms", "spark.springbok.least")
    val declined = filter.copy(id = None, status = "declined", reason = small)
    val tie = reason("TIE", "two strategies cost 16.0 MB", "spark.springbok.mode")
    val joins = recorded.joins.updated(0, recorded.joins.head.copy(reason = Some(tie)))
    val text = screen(recorded.copy(joins = joins, filters = Seq(declined, declined)))
    val Array(changes, decided) = text.substring(text.indexOf("What to change")).split("\n\n"): @unchecked
    assert(changes == "What to change\n  Nothing stands out.")
    assert(
      decided.linesIterator.toSeq == Seq(
        "Settings that decided",
        "  spark.springbok.mode: join 0",
        "  spark.springbok.least: no filter of join 0 from c_custkey"
      )
    )
    val limit = reason("BUILD_SIDE_TOO_BIG", "the build side may take 1.0 GB", "spark.springbok.limit")
    val cheaper =
      AlternativeEntry("broadcast hash, build right", Some(1.0), None, Map.empty, Some(limit))
    val j = recorded.joins.head
    val words =
      screen(recorded.copy(joins = Seq(j.copy(alternatives = j.alternatives :+ cheaper)))).split("\\s+")
    assert(
      words
        .mkString(" ")
        .contains(
          "Consider another value of spark.springbok.limit: it rules out a broadcast hash, build right in join 0,"
        )
    )
    assert(Words.cost(cheaper).endsWith("the build side may take 1.0 GB [spark.springbok.limit]"))
  }

  test("what helps: statistics, formats, hints, and estimates that are far off") {
    val Seq(analyzed, text, database) = Seq(
      ("a", "Parquet", Some("ANALYZE TABLE a COMPUTE STATISTICS")),
      ("t", "CSV", None),
      ("d", "JDBC", None)
    ).map { case (name, format, analyze) =>
      recorded.tables.head.copy(name = Some(name), format = format, rows = None, analyze = analyze)
    }: @unchecked
    val j = recorded.joins.head
      .copy(hint = Some("MERGE"), hintHonoured = Some(false), qError = Some(1234.5))
    val failed = FailureEntry("Rule", "java.lang.Error")
    val r = recorded.copy(
      tables = Seq(analyzed, text, text, database),
      joins = Seq.fill(20)(j.copy(qError = None, hintHonoured = None)),
      failures = Seq(failed)
    )
    val lines = screen(r.copy(joins = j +: r.joins)).linesIterator.map(_.trim).toSeq
    val changes = lines.drop(lines.indexOf("What to change") + 1).takeWhile(_.nonEmpty)
    assert(
      changes.map(_.split(" ").take(3).mkString(" ")) == Seq(
        "Report a bug:",
        "Store t as",
        "Cache d, or",
        "Collect statistics: ANALYZE",
        "Remove or correct",
        "Check the statistics"
      )
    )
    assert(lines.contains("and 9 more") && changes.last.endsWith("off 1,234.5x."))
    val whole = ReportText.whole(r)
    for (
      s <- Seq(
        "Table t: unknown rows.",
        "FAILED: Rule failed with java.lang.Error; the plan went on without it"
      )
    )
      assert(whole.contains(s), whole)
  }

  test("writes, scans, aggregates and late filters") {
    val functions =
      Seq(AggregateFunctionEntry("sum(x)", "merge"), AggregateFunctionEntry("count(y)", "partial"))
    val aggregate = Some(AggregateEntry("mixed", Seq("l_orderkey"), functions))
    val late =
      filter.copy(
        scope = Some("global"),
        arrivedMs = Some(1200L),
        tasksTested = Some(6L),
        tasksUntested = Some(2L)
      )
    val r = recorded.copy(
      output = Seq(
        OutputEntry("town", "BIGINT", Seq("spark_catalog.default.people.town")),
        OutputEntry("n", "BIGINT", Nil)
      ),
      predicateSources = Seq("spark_catalog.default.people.id"),
      sink = Some(
        SinkEntry(
          "append",
          Some("spark_catalog.default.sums"),
          format = Some("parquet"),
          partitionColumns = Seq("n")
        )
      ),
      tables = recorded.tables.map(
        _.copy(partitionFilters = Seq("(day = 3)"), runtimeFilters = Seq("RF000"), tasks = Some(8L))
      ),
      fragments = recorded.fragments.map(f => f.copy(nodes = f.nodes.map(_.copy(aggregate = aggregate)))),
      filters = Seq(late)
    )
    val sink = "append: spark_catalog.default.sums (parquet), partitioned by n"
    val (whole, summary) = (ReportText.whole(r), screen(r))
    val words = whole.split("\\s+").mkString(" ")
    for (
      part <- Seq(
        sink,
        "town <- spark_catalog.default.people.town",
        "n <- no table",
        "rows by spark_catalog.default.people.id",
        "partitions: (day = 3)",
        "runtime filters: RF000",
        "by 8 tasks",
        "mixed: merge sum(x), partial count(y) by l_orderkey",
        "used, global",
        "arrived 1,200 ms after the scan began",
        "tested by 6 of 8 tasks"
      )
    ) assert(words.contains(part), part)
    assert(summary.contains(s"Writes: $sink."))
    assert(s"$whole\n$summary".linesIterator.forall(_.length <= 100))
  }

  test("a filter and what it did") {
    val facts = filter.copy(
      kinds = Nil,
      buildKeys = Some(5000L),
      bytes = Some(2048L),
      waitedMs = None,
      falsePositiveRate = Some(0.0298),
      arrivedMs = Some(1200L),
      tasksTested = Some(1L),
      tasksUntested = Some(2L),
      scanRows = None,
      pauses = Some(2L)
    )
    assert(Words.name(facts) == "RF000 orders.o_custkey <- c_custkey")
    assert(Words.name(facts.copy(id = None, targetTable = None, targetColumn = None)) == "none c_custkey")
    assert(
      Words.effect(facts).mkString(", ") ==
        "built from 5,000 keys, 2.0 KB, 3% false positives, arrived 1,200 ms after the scan began, " +
        "tested by 1 of 3 tasks, removed 5,489 of 7,286 rows, switched off 2 times for a while"
    )
    val why = reason("NO_SCAN_COLUMN", "the key is computed", "spark.x")
    val rows = facts.copy(rowsIn = None, notPushed = Some(why))
    assert(Words.effect(rows).contains("not told to the scan: the key is computed"))
    assert(Words.effect(facts.copy(pushed = Some("rebuilt"))).contains("scan built again with it"))
    assert(Words.effect(facts.copy(pushed = Some("query"))).contains("in the database's query"))
  }

  test("numbers of rows, and how far they are off") {
    val amounts = Seq(0.0 -> "0", 2.5 -> "3", 99999.0 -> "99,999", 123456.0 -> "123.46 K", 7e9 -> "7.00 G")
    for ((n, text) <- amounts) assert(Words.amount(n) == text)
    assert(Words.off(Some(1.9)).isEmpty && Words.off(Some(1234.56)) == ", off 1,234.6x")
  }

  test("lines have at most 100 characters, and no letter is cut in two") {
    val lines = Lines.wrap(s"select  ${"x" * 250} ${"🦌" * 120}\n ${"word " * 50}", 6)
    assert(lines.forall(l => l.codePointCount(0, l.length) <= 100) && lines.head == "      select")
    assert(lines.tail.forall(_.startsWith("        ")))
    assert(lines.map(_.count(_ == 'x')).sum == 250 && lines.mkString.count(_ == "🦌".last) == 120)
    assert(!lines.exists(l => Character.isLowSurrogate(l.trim.head)))
    assert(Lines.wrap("", 2) == Seq("  ") && Lines.shorten("🦌🦌🦌", 2) == "🦌…")
    val table = Lines.table(Seq("a", "none", "b"), Seq(Seq("x" * 90, "", "🦌"), Seq("x", "", "y" * 30)))
    assert(table.head.split(" +").toSeq == Seq("", "a", "b") && table.forall(_.length <= 101))
    assert(table(2).startsWith("  x    ") && table(2).endsWith("y" * 30) && table(1).contains("…"))
    assert(Lines.table(Seq("a"), Nil).isEmpty)
  }
}

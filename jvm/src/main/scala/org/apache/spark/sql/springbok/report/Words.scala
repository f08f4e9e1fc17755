package org.apache.spark.sql.springbok.report

import java.time.{Instant, ZoneOffset}
import java.time.format.DateTimeFormatter
import java.util.Locale

import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.report.model._

/**
 * Parts of a report in words: what EXPLAIN and the page share. `render/words.py` has the same words for Python;
 * tests/spark/test_words.py compares them.
 */
private[springbok] object Words {
  private val units = Seq(1e12 -> "T", 1e9 -> "G", 1e6 -> "M", 1e3 -> "K")

  private def printed(format: String, values: Any*): String = format.formatLocal(Locale.ROOT, values: _*)

  /** A number of rows: 1,234 or 1.23 M. */
  def amount(n: Double): String =
    if (n < 100000) printed("%,.0f", n)
    else units.collectFirst { case (size, unit) if n >= size => printed("%.2f %s", n / size, unit) }.get

  def amount(n: Option[Double]): String = n.fold("unknown")(amount)

  /** Where a number of rows comes from. */
  def source(name: String, history: Option[HistoryEntry]): String =
    history.fold(name)(h => s"$name, ${runs(h.runs)}, last on ${day(h.lastMs)}")

  private def runs(n: Long): String = if (n == 1) "1 run" else s"$n runs"

  private def day(ms: Long): String =
    DateTimeFormatter
      .ofPattern("yyyy-MM-dd HH:mm 'UTC'")
      .withZone(ZoneOffset.UTC)
      .format(Instant.ofEpochMilli(ms))

  def percent(fraction: Double): String = printed(if (fraction < 0.01) "%.2f%%" else "%.0f%%", fraction * 100)

  /** How far an estimate was off: nothing up to a factor of 2. */
  def factor(q: Option[Double]): String = q.filter(_ >= 2).fold("")(f => printed("off %,.1fx", f))

  def ns(cost: Double): String = printed("%.0f ns", cost)

  /** What conjuncts cost in their new order, with as many digits as tell it from the query's. */
  def cost(c: ConjunctsEntry): String = {
    val texts = (0 to 3).map(n => (printed(s"%.${n}f", c.costAfter), printed(s"%.${n}f", c.costBefore)))
    val (after, before) = texts.find(t => t._1 != t._2).getOrElse(texts.head)
    s"$after ns a row instead of $before"
  }

  /** The equalities of a join, or what it has instead. */
  def keys(j: JoinEntry): String =
    if (j.leftKeys.isEmpty) j.otherConjuncts.fold("no condition")("on " + _)
    else j.leftKeys.zip(j.rightKeys).map { case (l, r) => s"$l = $r" }.mkString(" AND ")

  /** What executes the join; None if the plan does not have it. */
  def strategy(j: JoinEntry): Option[String] = j.strategy.map(_ + j.build.fold("")(b => s", build $b"))

  /** What Spark would have planned, if that is something else. */
  def sparkAlone(j: JoinEntry): Option[String] =
    j.sparkStrategy.filterNot(s => j.plannedBySpark || strategy(j).contains(s))

  /** The distribution, where the strategy's name does not say it. */
  def distribution(j: JoinEntry): Option[String] =
    j.distribution.filterNot(d => j.strategy.exists(_.startsWith(d)))

  /** What an alternative costs, or why it is ruled out, without its name. */
  def cost(a: AlternativeEntry): String = a.ruledOut.fold {
    val terms = a.terms.map { case (name, bytes) => s"$name ${Reason.bytes(bytes)}" }
    val impala = a.impalaCostBytes.fold("")(b => s", by Impala's formula ${Reason.bytes(b)}")
    s"costs ${a.costBytes.fold("unknown")(Reason.bytes)}" + (if (terms.size > 1)
                                                               terms.mkString(" (", ", ", ")")
                                                             else "") + impala
  }(r => s"ruled out, ${reason(r)}")

  def reason(r: ReasonEntry): String = s"${r.code}: ${r.text}"

  /** The column that a filter is applied to. */
  def target(f: FilterEntry): Option[String] =
    Some((f.targetTable ++ f.targetColumn).mkString(".")).filter(_.nonEmpty)

  /** What a filter removed, in short; empty if that is not known. */
  def removed(f: FilterEntry): String = {
    val rows =
      for (n <- f.rowsRemoved; of <- f.rowsIn if of > 0)
        yield s"removed ${amount(n.toDouble)} of ${amount(of.toDouble)} rows"
    val groups =
      for (n <- f.rowGroupsRemoved; of <- f.rowGroups if n > 0) yield s"skipped $n of $of row groups"
    val files = for (n <- f.filesRead; of <- f.files if n < of) yield s"read $n of $of files"
    (rows ++ groups ++ files).mkString(", ")
  }

  /** How a scan was told of a filter, where it matters, or why it was not. */
  def told(f: FilterEntry): Option[String] =
    f.pushed
      .collect { case "rebuilt" => "scan built again with it"; case "query" => "in the database's query" }
      .orElse(f.notPushed.map(r => s"not told to the scan: ${r.text}"))

  /** Which query has collected the keys of a filter, if that was an earlier one. */
  def kept(f: FilterEntry): Option[String] = f.keptMs.map(ms => s"keys of the query of ${day(ms)}")

  /** When a late filter came, and how many of the scan's tasks it came in time for. */
  def late(f: FilterEntry): Seq[String] =
    f.arrivedMs.map(ms => s"arrived $ms ms after the scan began").toSeq ++
      (for (n <- f.tasksTested; others <- f.tasksUntested if n + others > 0)
        yield s"tested by $n of ${n + others} tasks")

  /** What filters saved, in short; None if that is nothing. */
  def saved(s: SavedEntry): Option[String] = {
    val parts = Seq(
      s.rowsNotRead -> s"${amount(s.rowsNotRead.toDouble)} rows not read",
      s.rowsRemoved -> s"${amount(s.rowsRemoved.toDouble)} rows removed",
      s.bytesNotShuffled -> s"${Reason.bytes(s.bytesNotShuffled.toDouble)} not shuffled",
      s.coreMs.toLong -> printed("%,.0f ms of one core", s.coreMs)
    )
    Some(parts.collect { case (n, text) if n > 0 => text }).filter(_.nonEmpty).map(_.mkString(", "))
  }

  /** Where a statement writes. */
  def sink(s: SinkEntry): String = {
    val by =
      if (s.partitionColumns.isEmpty) "" else s.partitionColumns.mkString(", partitioned by ", ", ", "")
    s"${s.mode}: ${s.table.orElse(s.path).getOrElse("an unknown place")}${s.format.fold("")(f => s" ($f)")}$by"
  }

  /** What an operator aggregates. */
  def aggregate(a: AggregateEntry): String = {
    val functions = a.functions.map(f => if (f.phase == a.phase) f.function else s"${f.phase} ${f.function}")
    val what = if (functions.isEmpty) "groups" else functions.mkString(", ")
    s"${a.phase}: $what" + (if (a.keys.isEmpty) "" else a.keys.mkString(" by ", ", ", ""))
  }

  /** What was read of a table; empty before the query ran. */
  def read(t: TableEntry): String = {
    val partitions = for (n <- t.partitionsRead; of <- t.partitions) yield s"$n of $of partitions"
    val files = for (n <- t.filesRead; of <- t.files) yield s"$n of $of files"
    val tasks = t.tasks.map(n => if (n == 1) "by 1 task" else s"by $n tasks")
    (partitions ++ files ++ t.rowsRead.map(n => s"${amount(n.toDouble)} rows") ++ tasks).mkString(", ")
  }

  /** The conditions that a table is scanned with, those of runtime filters by their ids, and what a connector says. */
  def scanned(t: TableEntry): Seq[String] = Seq(
    "partitions" -> t.partitionFilters,
    "pushed" -> t.pushedFilters,
    "runtime filters" -> t.runtimeFilters,
    "scan" -> t.scan.toSeq
  ).collect { case (what, all) if all.nonEmpty => s"$what: ${all.mkString(", ")}" }

  /** What is not known of a table; None if all is known that a join asks for. */
  def missing(t: TableEntry): Option[String] =
    if (t.rows.isEmpty) Some("unknown rows")
    else Some(t.missingStatistics).filter(_.nonEmpty).map(_.mkString("no statistics of ", ", ", ""))

  def memory(r: Resources): Option[String] = r.joinMemoryPerExecutorBytes.map { b =>
    s"the joins may take ${Reason.bytes(b)} of each executor's ${Reason.bytes(r.executorHeapBytes.toDouble)} heap"
  }

  /** `count, query 12 of the SQL tab, 345 ms`. */
  def run(e: ExecutionEntry): String =
    printed("%s, query %d of the SQL tab, %,d ms", e.action, e.id, e.durationMs)

  /** What tells the query from others, in one line: its SQL, its job description or where it was called. */
  def which(r: QueryReport): String = {
    val text = r.query.sql.orElse(r.execution.flatMap(e => e.jobDescription.orElse(e.callSite)))
    text
      .getOrElse("")
      .linesIterator
      .filterNot(_.trim.startsWith("--"))
      .mkString(" ")
      .trim
      .replaceAll("\\s+", " ")
  }
}

package org.apache.spark.sql.springbok.report

import java.time.Instant
import java.time.temporal.ChronoUnit
import java.util.Locale

import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.report.model._

/** Parts of a report in words: what EXPLAIN, the page and the text share. */
private[springbok] object Words {
  private val units = Seq(1e12 -> "T", 1e9 -> "G", 1e6 -> "M", 1e3 -> "K")

  private def printed(format: String, values: Any*): String = format.formatLocal(Locale.ROOT, values: _*)

  /** A number of rows: 1,234 or 1.23 M. */
  def amount(n: Double): String =
    if (n < 100000) printed("%,.0f", n)
    else units.collectFirst { case (size, unit) if n >= size => printed("%.2f %s", n / size, unit) }.get

  def amount(n: Option[Double]): String = n.fold("unknown")(amount)

  def percent(fraction: Double): String = printed(if (fraction < 0.01) "%.2f%%" else "%.0f%%", fraction * 100)

  /** How far an estimate was off: nothing up to a factor of 2. */
  def factor(q: Option[Double]): String = q.filter(_ >= 2).fold("")(f => printed("off %,.1fx", f))

  def off(q: Option[Double]): String = Some(factor(q)).filter(_.nonEmpty).fold("")(", " + _)

  /** A conjunct's cost, and the fraction of the rows that it retains. */
  def conjunct(e: ConjunctEntry): String =
    printed("%.0f ns", e.cost) +
      s", retains ${e.selectivity.fold("an unknown part")(s => s"${percent(s)} of the rows")}"

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

  /** What executes the join, or was decided to. */
  def chosen(j: JoinEntry): String = strategy(j).orElse(j.planned).getOrElse("undecided")

  /** What Spark would have planned, if that is something else. */
  def sparkAlone(j: JoinEntry): Option[String] =
    j.sparkStrategy.filterNot(s => j.plannedBySpark || strategy(j).contains(s))

  /** The distribution, where the strategy's name does not say it. */
  def distribution(j: JoinEntry): Option[String] =
    j.distribution.filterNot(d => j.strategy.exists(_.startsWith(d)))

  def changed(j: JoinEntry): Option[String] =
    j.before.filter(_ => j.revised).map(b => s"changed at run time from $b")

  def hintIgnored(j: JoinEntry): Option[String] =
    j.hint.filter(_ => j.hintHonoured.contains(false)).map(h => s"the hint $h is not followed")

  /** What an alternative costs, or why it is ruled out, without its name. */
  def cost(a: AlternativeEntry): String = a.ruledOut.fold {
    val terms = a.terms.map { case (name, bytes) => s"$name ${Reason.bytes(bytes)}" }
    val impala = a.impalaCostBytes.fold("")(b => s", by Impala's formula ${Reason.bytes(b)}")
    s"costs ${a.costBytes.fold("unknown")(Reason.bytes)}" + (if (terms.size > 1)
                                                               terms.mkString(" (", ", ", ")")
                                                             else "") + impala
  }(r => s"ruled out, ${reason(r)}")

  /** A reason with its numbers, and the setting that would change it. */
  def reason(r: ReasonEntry): String = s"${r.code}: ${r.text}${r.setting.fold("")(s => s" [$s]")}"

  def side(s: SideEntry): String = {
    val bound = s.boundBytes.fold("")(b => s", at most ${Reason.bytes(b)}")
    s"${amount(s.rows)} rows (${s.rowsSource})$bound${if (s.partitioned) ", already partitioned" else ""}"
  }

  /** What a join's input had; its filters are part of the estimate that is compared. */
  def observed(s: SideEntry): Option[String] = s.observedRows.map { n =>
    val first = s.estimatedRows.filter(e => s.rows.exists(r => math.abs(e - r) > 0.01 * r))
    s"observed ${amount(n.toDouble)}${first.fold("")(e => s" of estimated ${amount(e)}")}${off(s.qError)}"
  }

  /** The column that a filter is applied to. */
  def target(f: FilterEntry): Option[String] =
    Some((f.targetTable ++ f.targetColumn).mkString(".")).filter(_.nonEmpty)

  /** `RF000[bloom] orders.o_custkey <- c_custkey`. */
  def name(f: FilterEntry): String = {
    val kinds = if (f.kinds.isEmpty) "" else f.kinds.mkString("[", ", ", "]")
    s"${f.id.getOrElse("none")}$kinds ${target(f).fold("")(_ + " <- ")}${f.source}"
  }

  def expected(f: FilterEntry): Option[String] =
    f.expectedRetained.map(r => s"expected to retain ${percent(r)} of the rows")

  /** What a filter is, and what it did. */
  def effect(f: FilterEntry): Seq[String] =
    f.buildKeys.map(n => s"built from ${amount(n.toDouble)} keys").toSeq ++
      f.bytes.filter(_ > 0).map(b => Reason.bytes(b.toDouble)) ++
      f.falsePositiveRate.filter(_ > 0).map(p => s"${percent(p)} false positives") ++
      f.waitedMs.map(printed("waited %,d ms", _)) ++ late(f) ++
      Some(removed(f)).filter(_.nonEmpty) ++ told(f) ++
      f.scanRows.map(n => s"scan read ${amount(n.toDouble)} rows") ++
      f.pauses.filter(_ > 0).map(n => s"switched off $n times for a while")

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

  /** When a late filter came, and how many of the scan's tasks it came in time for. */
  private def late(f: FilterEntry): Seq[String] =
    f.arrivedMs.map(printed("arrived %,d ms after the scan began", _)).toSeq ++
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
    val pruned = s.pruning.fold("")(p => s"; ${p.text}")
    s"${s.mode}: ${s.table.orElse(s.path).getOrElse("an unknown place")}${s.format.fold("")(f => s" ($f)")}$by$pruned"
  }

  /** Where the values of each column come from, and what decides which rows there are. */
  def lineage(r: QueryReport): Seq[String] = {
    val columns =
      r.output.map(o => s"${o.column} <- ${if (o.sources.isEmpty) "no table" else o.sources.mkString(", ")}")
    columns ++ Some(r.predicateSources).filter(_.nonEmpty).map(_.mkString("rows by ", ", ", ""))
  }

  def partitioning(p: PartitioningEntry): String = {
    val keys = p.keys.filter(_.nonEmpty).fold("")(_.mkString(" on ", ", ", ""))
    s"${p.kind}$keys${p.partitions.fold("")(n => s", $n partitions")}"
  }

  /** What an operator aggregates. */
  def aggregate(a: AggregateEntry): String = {
    val functions = a.functions.map(f => if (f.phase == a.phase) f.function else s"${f.phase} ${f.function}")
    val what = if (functions.isEmpty) "groups" else functions.mkString(", ")
    s"${a.phase}: $what" + (if (a.keys.isEmpty) "" else a.keys.mkString(" by ", ", ", ""))
  }

  /** An aggregate above joins: by which keys, and whose rows are aggregated before. */
  def aggregation(a: EagerAggregationEntry): String = {
    val by = if (a.groups.isEmpty) "of all rows" else s"by ${a.groups}"
    val rows =
      for (n <- a.rows; left <- a.retained if a.below.isDefined)
        yield s", ${amount(n)} rows to ${amount(left)}"
    s"$by: " + a.below.fold("above the joins alone")(b => s"first of $b${rows.getOrElse("")}")
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

  def warnings(r: QueryReport): Seq[String] =
    r.tables.flatMap(t => missing(t).map(m => s"Table ${t.name.getOrElse("?")}: $m.")).distinct

  /** The SQL statements that collect what is missing. */
  def statements(r: QueryReport): Seq[String] = r.tables.flatMap(_.analyze).distinct.sorted

  def failure(f: FailureEntry): String =
    s"${f.rule} failed with ${f.error}; the plan went on without it"

  def memory(r: Resources): Option[String] = r.joinMemoryPerExecutorBytes.map { b =>
    s"the joins may take ${Reason.bytes(b)} of each executor's ${Reason.bytes(r.executorHeapBytes.toDouble)} heap"
  }

  /** `count, query 12 of the SQL tab, 345 ms`. */
  def run(e: ExecutionEntry): String =
    printed("%s, query %d of the SQL tab, %,d ms", e.action, e.id, e.durationMs)

  /** Whether the query ran, and which run it was. */
  def state(r: QueryReport): String = r.state + r.execution.fold("")(e => s" by ${run(e)}")

  def title(r: QueryReport): String = s"Springbok ${r.springbok} on Spark ${r.spark}: ${state(r)}"

  /** What tells the query and its run from others, but its SQL. */
  def identity(r: QueryReport): Seq[String] = {
    val q = r.query
    val run = r.execution.toSeq.flatMap { e =>
      val started = s"Started ${Instant.ofEpochMilli(e.startMs).truncatedTo(ChronoUnit.MILLIS)}"
      val job = (e.jobGroup.map("job group " + _) ++ e.jobDescription).mkString(", ")
      Seq(started + e.callSite.fold("")(", called by " + _), job).filter(_.nonEmpty)
    }
    s"${q.statement} by ${q.user} in application ${q.application}${q.database.fold("")(", database " + _)}${q.fingerprint.fold("")(", fingerprint " + _)}" +: run
  }

  /** The SQL text in one line, without the lines that are comments. */
  def sql(r: QueryReport): Option[String] = r.query.sql.map(inOneLine).filter(_.nonEmpty)

  /** What tells the query from others, in one line: its SQL, its job description or where it was called. */
  def which(r: QueryReport): String =
    sql(r).getOrElse(r.execution.flatMap(e => e.jobDescription.orElse(e.callSite)).fold("")(inOneLine))

  private def inOneLine(text: String): String =
    text.linesIterator.filterNot(_.trim.startsWith("--")).mkString(" ").trim.replaceAll("\\s+", " ")
}

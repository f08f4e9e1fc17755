package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.report.Lines._
import org.apache.spark.sql.springbok.report.model._

/** Reports as text: all of it, or what fits one screen. */
private[springbok] object ReportText {

  /** The report with its words, for readers that do not make them. They are made when it is asked for, and not kept. */
  def into(r: QueryReport): QueryReport = r.copy(
    joins = r.joins.map { j =>
      val alternatives = j.alternatives.map(a => a.copy(text = Some(Words.cost(a))))
      j.copy(condition = Some(Words.keys(j)), alternatives = alternatives)
    },
    filters =
      r.filters.map(f => f.copy(name = Some(Words.name(f)), effect = Some(Words.effect(f).mkString(", ")))),
    texts = Some(TextsEntry(Words.which(r), ScreenText(r), whole(r)))
  )

  def whole(r: QueryReport): String = {
    val saved = r.saved.flatMap(Words.saved).map(s => s"Saved by runtime filters, by estimate: $s.")
    val settings = r.settings.toSeq.map { case (k, v) => s"$k = $v" }
    val parts = Words.title(r) +: (r.note.toSeq ++ Words.warnings(r) ++ saved).flatMap(wrap(_, 0))
    val written = r.sink.toSeq.flatMap(s => Words.sink(s) +: Words.lineage(r))
    val lines = parts ++
      section("Query", (Words.identity(r) ++ Words.sql(r)).flatMap(wrap(_, 2))) ++
      section("Statistics to collect", Words.statements(r).flatMap(wrap(_, 2))) ++
      section("Tables", r.tables.flatMap(table)) ++
      section("Writes", written.flatMap(wrap(_, 2))) ++
      section("Joins", r.joins.flatMap(join)) ++
      section("Runtime filters", r.filters.flatMap(filter)) ++
      section("Join order", r.joinOrder.flatMap(order)) ++
      section("Eager aggregation", r.eagerAggregation.flatMap(aggregation)) ++
      section("Conjuncts put into another order", r.conjuncts.filter(_.changed).flatMap(conjuncts)) ++
      section("Fragments", r.fragments.flatMap(fragment)) ++
      r.failures.map(f => s"FAILED: ${Words.failure(f)}") ++
      Words.memory(r.resources).toSeq.flatMap(m => Seq("", m.capitalize)) ++
      section("Settings that differ from the default", settings.flatMap(wrap(_, 2)))
    lines.mkString("\n")
  }

  private def table(t: TableEntry): Seq[String] = {
    val files = t.files.filter(_ > 0).fold("")(n => s", $n files")
    val what = s"${t.name.getOrElse("?")} (${t.format}$files, ${Reason.bytes(t.bytes.toDouble)})"
    val read = Some(Words.read(t)).filter(_.nonEmpty).fold("")("; read " + _)
    wrap(s"$what: ${Words.amount(t.rows)} rows (${t.rowsSource})$read", 2) ++
      Words.scanned(t).flatMap(wrap(_, 6))
  }

  private def join(j: JoinEntry): Seq[String] = {
    val sides =
      for ((name, s) <- Seq("left" -> j.left, "right" -> j.right))
        yield s"$name: ${Words.side(s)}${Words.observed(s).fold("")("; " + _)}"
    val output =
      j.outputRows.map(n => s"output: ${Words.amount(n.toDouble)} rows observed${Words.off(j.qError)}")
    val parts = j.otherConjuncts.filter(_ => j.leftKeys.nonEmpty).map("and " + _).toSeq ++
      Seq((Seq(Words.chosen(j)) ++ Words.distribution(j) ++ Words.changed(j)).mkString(", ")) ++
      j.reason.map(Words.reason) ++ Words.hintIgnored(j) ++ j.notes.map(Words.reason) ++ sides ++ output
    wrap(s"${j.id} ${j.`type`} ${Words.keys(j)}", 2) ++ parts.flatMap(wrap(_, 6)) ++
      j.alternatives.flatMap(a => wrap(s"${a.strategy}: ${Words.cost(a)}", 8))
  }

  private def filter(f: FilterEntry): Seq[String] = {
    val scope = f.scope.fold("")(", " + _)
    val why = Seq(Words.reason(f.reason)).filter(_ => f.status != "used")
    val effect = Seq(Words.effect(f).mkString(", ")).filter(_.nonEmpty)
    wrap(s"${Words.name(f)} (join ${f.join}): ${f.status}$scope", 2) ++ (why ++ effect).flatMap(wrap(_, 6))
  }

  private def order(o: JoinOrderEntry): Seq[String] = {
    val others = o.after.map(_ => s"instead of ${o.before}") ++ o.best.map("the best order found: " + _)
    wrap(o.after.getOrElse(o.before), 2) ++ (Words.reason(o.reason) +: others.toSeq).flatMap(wrap(_, 6))
  }

  private def aggregation(a: EagerAggregationEntry): Seq[String] =
    wrap(Words.aggregation(a), 2) ++ wrap(Words.reason(a.reason), 6)

  private def conjuncts(c: ConjunctsEntry): Seq[String] =
    wrap(s"${c.operator}: ${Words.cost(c)}", 2) ++
      c.order.flatMap(e => wrap(s"${e.condition} (${Words.conjunct(e)})", 6))

  private def fragment(f: FragmentEntry): Seq[String] = {
    val to = f.exchange.map(_.to).filter(_.nonEmpty).fold("")(_.mkString(" to ", ", ", ""))
    val sent = f.exchange.fold("") { e =>
      val rows = e.rows.fold(s"${Words.amount(e.estimatedRows)} rows estimated")(n =>
        s"${Words.amount(n.toDouble)} rows"
      )
      s", $rows${Words.off(e.qError)}"
    }
    wrap(s"${f.id} ${f.kind}$to: ${Words.partitioning(f.partitioning)}$sent", 2) ++
      f.nodes.flatMap(_.aggregate).flatMap(a => wrap(Words.aggregate(a), 6))
  }
}

/** A report on one screen: a line for each join and each runtime filter, then what to change. */
private object ScreenText {
  private val most = 12 // lines of joins, of filters and of advice
  private val farOff = 10 // times
  private val joinHead = Seq("", "join", "strategy, build", "Spark alone", "why", "expected", "observed")
  private val filterHead = Seq("filter", "join", "status", "effect, or why not")
  private val statuses = Seq("used", "placed", "unused", "declined")

  def apply(r: QueryReport): String = {
    val which = Some(Words.which(r)).filter(_.nonEmpty).map(shorten(_, width))
    val head = r.note ++ r.sink.map(s => s"Writes: ${Words.sink(s)}.")
    val filters = r.filters.sortBy(f => statuses.indexOf(f.status))
    val saved = r.saved.flatMap(Words.saved).map(s => s"Saved, by estimate: $s.")
    val changes = Option(advice(r)).filter(_.nonEmpty).getOrElse(Seq("Nothing stands out."))
    val lines = (Words.title(r) +: which.toSeq) ++ head.flatMap(wrap(_, 0)) ++
      section(
        "Joins, with rows expected and observed",
        first(r.joins)(js => table(joinHead, js.map(join)))
      ) ++
      section("Runtime filters", first(filters)(fs => table(filterHead, fs.map(filter)))) ++
      saved.toSeq.flatMap(wrap(_, 0)) ++
      section("What to change", first(changes)(_.flatMap(wrap(_, 2)))) ++
      section("Settings that decided", first(decided(r))(_.flatMap(wrap(_, 2))))
    lines.mkString("\n")
  }

  /** The first of them as lines, and a line that says how many more there are. */
  private def first[T](items: Seq[T])(lines: Seq[T] => Seq[String]): Seq[String] =
    lines(items.take(most)) ++ Seq(items.size - most).filter(_ > 0).map(n => s"  and $n more")

  private def join(j: JoinEntry): Seq[String] = {
    val same = if (j.plannedBySpark || j.sparkStrategy.isDefined) "the same" else ""
    Seq(
      j.id.toString,
      (if (j.`type` == "INNER") "" else s"${j.`type`} ") + Words.keys(j),
      short(Words.chosen(j)),
      short(Words.sparkAlone(j).getOrElse(same)),
      j.reason.fold("")(_.code),
      j.estimatedRows.fold("")(Words.amount(_)),
      j.outputRows.fold("")(n => Words.amount(n.toDouble))
    )
  }

  /** `broadcast, left` for `broadcast hash, build left`. */
  private def short(strategy: String): String =
    strategy.replace("broadcast hash", "broadcast").replace("build ", "")

  private def filter(f: FilterEntry): Seq[String] = {
    val why = s"${f.reason.code}: ${f.reason.text}"
    val what = f.status match {
      case "used" => Words.removed(f)
      case "placed" => Words.expected(f).getOrElse(why)
      case _ => why
    }
    Seq(Words.name(f), f.join.toString, f.status, what)
  }

  /** What would make the plan better, most important first. */
  private def advice(r: QueryReport): Seq[String] = {
    val uncounted = r.tables.filter(t => t.rows.isEmpty && t.analyze.isEmpty)
    val (databases, others) = uncounted.partition(_.format.startsWith("JDBC"))
    def names(tables: Seq[TableEntry]) = tables.map(_.name.getOrElse("?")).distinct.sorted
    val ruledOut =
      for (j <- r.joins; a <- cheaper(j); why <- a.ruledOut)
        yield why -> s"a ${a.strategy} in join ${j.id}"
    r.failures.map(f =>
      s"Report a bug: the rule ${f.rule} failed with ${f.error}. The plan went on without it."
    ) ++
      names(others).map(n =>
        s"Store $n as Parquet or ORC, or as a table that can be analyzed: its rows are unknown."
      ) ++
      names(databases).map(n =>
        s"Cache $n, or hint at its joins: Spark learns no row counts from a database."
      ) ++
      Words.statements(r).map("Collect statistics: " + _) ++
      (for (j <- r.joins; hint <- j.hint if j.hintHonoured.contains(false))
        yield s"Remove or correct the hint $hint of join ${j.id}: it cannot be followed.") ++
      (for (j <- r.joins if j.qError.exists(_ >= farOff))
        yield s"Check the statistics of join ${j.id}: its output is ${Words.factor(j.qError)}.") ++
      bySetting(ruledOut).map { case (setting, places) =>
        s"Consider another value of $setting: it rules out $places, which would cost less."
      }
  }

  /** The alternatives that would cost less than what was chosen. */
  private def cheaper(j: JoinEntry): Seq[AlternativeEntry] = {
    val chosen = j.alternatives.find(a => Words.strategy(j).contains(a.strategy)).flatMap(_.costBytes)
    j.alternatives.filter(a => a.costBytes.exists(c => chosen.exists(c < _)))
  }

  /** The settings that decisions depend on, each with what it decides. Another value need not be better. */
  private def decided(r: QueryReport): Seq[String] = {
    val joins = r.joins.flatMap(j => j.reason.map(_ -> s"join ${j.id}"))
    val filters = r.filters
      .filter(f => f.status == "unused" || f.status == "declined")
      .map(f => f.reason -> s"no filter of join ${f.join} from ${f.source}")
    bySetting(joins ++ filters).map { case (setting, places) => s"$setting: $places" }
  }

  /** What each setting has decided. */
  private def bySetting(decisions: Seq[(ReasonEntry, String)]): Seq[(String, String)] = {
    val found = decisions.flatMap { case (r, what) => r.setting.map(_ -> what) }.distinct
    found.map(_._1).distinct.map(s => s -> found.collect { case (`s`, what) => what }.mkString("; "))
  }
}

/** Lines of at most 100 characters: wrapped, in sections, and as tables. */
private object Lines {
  val width = 100

  /** The text at this indent; further lines are indented by two more. */
  def wrap(text: String, indent: Int): Seq[String] = {
    val pad = " " * indent
    val words = text.trim.split("\\s+").toSeq.flatMap(pieces(_, width - indent - 2))
    words.drop(1).foldLeft(Vector(pad + words.headOption.getOrElse(""))) { (lines, word) =>
      if (length(lines.last) + 1 + length(word) <= width) lines.init :+ s"${lines.last} $word"
      else lines :+ s"$pad  $word"
    }
  }

  /** Lines under a title, after an empty line; nothing if there are no lines. */
  def section(title: String, lines: Seq[String]): Seq[String] =
    if (lines.isEmpty) lines else Seq("", title) ++ lines

  /** One line for each row. Empty columns are left out, and the widest columns are cut until a line fits. */
  def table(head: Seq[String], rows: Seq[Seq[String]]): Seq[String] = {
    val columns = (head +: rows).transpose.filter(_.tail.exists(_.nonEmpty))
    var widths = columns.map(_.map(length).max)
    while (widths.sum + 2 * widths.size > width)
      widths = widths.updated(widths.indexOf(widths.max), widths.max - 1)
    columns.transpose.map { cells =>
      val line = cells.zip(widths).map { case (text, w) =>
        s"  ${shorten(text, w)}${" " * (w - length(text))}"
      }
      line.mkString.replaceAll(" +$", "")
    }
  }

  /** The text, cut with a dot dot dot where it is longer. */
  def shorten(text: String, most: Int): String =
    if (length(text) <= most) text else pieces(text, most - 1).head + "…"

  // A letter may be two units of the JVM.
  private def length(text: String): Int = text.codePointCount(0, text.length)

  private def pieces(text: String, most: Int): Seq[String] =
    text.codePoints.toArray.grouped(most).map(c => new String(c, 0, c.length)).toSeq
}

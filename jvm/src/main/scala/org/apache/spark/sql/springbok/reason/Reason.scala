package org.apache.spark.sql.springbok.reason

import java.util.Locale

import scala.collection.mutable
import scala.util.matching.Regex

import org.apache.spark.internal.config.ConfigEntry
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildSide}

/**
 * Why something was decided.
 *
 * @param args
 *   the numbers in the sentence, by name
 */
final case class Reason(template: ReasonTemplate, args: Seq[(String, Any)]) {

  /** Stable, for programs. */
  def code: String = template.code
  def text: String = template.fill(args.toMap)

  /** The setting that would change the decision. */
  def setting: Option[String] = template.setting
}

/**
 * The texts of one code: the sentence in reports, and the line in `docs/reasons.md`.
 *
 * @param topic
 *   the kind of decision; the same code may mean different things for joins and for filters
 * @param sentence
 *   with its numbers as `{name}`, `{name:size}` (bytes) or `{name:percent}` (a fraction)
 * @param advice
 *   what it means for the user, and what to do
 */
final class ReasonTemplate private[springbok] (
    val topic: String,
    val code: String,
    val sentence: String,
    val setting: Option[String],
    val advice: String
) {
  val names: Seq[String] = ReasonTemplate.hole.findAllMatchIn(sentence).map(_.group(1)).toSeq.distinct

  /** Numbers that differ get as many more digits as tell them apart: "5 ms; the least is 5 ms" explains nothing. */
  def fill(args: Map[String, Any]): String = {
    def text(m: Regex.Match, more: Int) =
      args.get(m.group(1)).fold("?")(ReasonTemplate.format(_, Option(m.group(2)).getOrElse(""), more))
    val numbers = ReasonTemplate.hole
      .findAllMatchIn(sentence)
      .flatMap(m => args.get(m.group(1)).collect { case d: Double => d -> m })
      .toMap
      .values
      .toSeq
    val more = Reason.digits(n => numbers.map(text(_, n)))
    ReasonTemplate.hole.replaceAllIn(sentence, m => Regex.quoteReplacement(text(m, more)))
  }

  private[springbok] def of(values: Any*): Reason = Reason(this, names.zip(values))
}

object ReasonTemplate {
  private val hole = "\\{(\\w+)(?::(\\w+))?\\}".r

  /** A sentence for the documentation: its numbers by their names. */
  private[springbok] def shown(sentence: String): String =
    hole.replaceAllIn(sentence, m => Regex.quoteReplacement(s"*${m.group(1)}*"))

  /** @param more digits after the point beyond those of the kind */
  private def format(v: Any, kind: String, more: Int): String = (v, kind) match {
    case (d: Double, "size") => Reason.bytes(d, more)
    case (d: Double, "percent") => Reason.percent(d, more)
    case (d: Double, _) if d.isNaN => "unknown"
    case (d: Double, _) => s"%.${more}f".formatLocal(Locale.ROOT, d)
    case (s: Seq[?], _) => s.mkString(" and ")
    case (other, _) => other.toString
  }
}

/** Makes templates and keeps a list of them. A template takes its arguments in the order of the numbers in its sentence. */
abstract private[springbok] class ReasonRegistry {
  private val made = mutable.LinkedHashMap.empty[(String, String), ReasonTemplate]

  /** All templates in the order of the documentation. */
  def all: Seq[ReasonTemplate] = made.values.toSeq

  /** One topic of the documentation. */
  final protected class Topic(name: String) {
    private def template(
        n: Int,
        code: String,
        sentence: String,
        setting: Option[String],
        advice: String
    ): ReasonTemplate = {
      val t = new ReasonTemplate(name, code, sentence, setting, advice)
      require(t.names.size == n, s"$code has ${t.names.size} arguments, not $n")
      require(made.put(name -> code, t).isEmpty, s"$code is there twice")
      t
    }

    def fixed(code: String, sentence: String, advice: String, setting: Option[String] = None): Reason =
      template(0, code, sentence, setting, advice).of()

    def of1[A](
        code: String,
        sentence: String,
        advice: String,
        setting: Option[String] = None
    ): A => Reason = {
      val t = template(1, code, sentence, setting, advice)
      t.of(_)
    }

    def of2[A, B](
        code: String,
        sentence: String,
        advice: String,
        setting: Option[String] = None
    ): (A, B) => Reason = {
      val t = template(2, code, sentence, setting, advice)
      t.of(_, _)
    }

    def of3[A, B, C](
        code: String,
        sentence: String,
        advice: String,
        setting: Option[String] = None
    ): (A, B, C) => Reason = {
      val t = template(3, code, sentence, setting, advice)
      t.of(_, _, _)
    }

    def of4[A, B, C, D](
        code: String,
        sentence: String,
        advice: String,
        setting: Option[String] = None
    ): (A, B, C, D) => Reason = {
      val t = template(4, code, sentence, setting, advice)
      t.of(_, _, _, _)
    }
  }

  protected def by(entry: ConfigEntry[?]): Option[String] = Some(entry.key)
}

object Reason extends ReasonRegistry with JoinReasons with OrderReasons with FilterReasons {

  def side(s: BuildSide): String = if (s == BuildLeft) "left" else "right"

  /** How many more digits tell numbers apart; 0 if too many would be needed. */
  private[reason] def digits(texts: Int => Seq[String]): Int =
    (0 to 3).find(more => texts(more).distinct.size == texts(more).size).getOrElse(0)

  private[reason] def percent(fraction: Double, more: Int = 0): String =
    s"%.${more}f%%".formatLocal(Locale.ROOT, fraction * 100)
  private[reason] def ms(ms: Double, more: Int = 0): String = s"%.${more}f ms".formatLocal(Locale.ROOT, ms)
  private[reason] def count(n: Double, of: String): String = s"%,.0f $of".formatLocal(Locale.ROOT, n)

  /** Both numbers as texts, with as many more digits as tell them apart. */
  private[reason] def apart(a: Double, b: Double)(text: (Double, Int) => String): (String, String) = {
    val more = digits(n => Seq(text(a, n), text(b, n)))
    (text(a, more), text(b, more))
  }

  /** Bytes, readable. */
  def bytes(b: Double): String = bytes(b, 0)

  private[reason] def bytes(b: Double, more: Int): String = {
    val units = Seq("B", "KB", "MB", "GB", "TB", "PB")
    val i = if (b < 1) 0 else math.min(units.size - 1, (math.log(b) / math.log(1024)).toInt)
    val digits = if (i == 0) more else more + 1
    s"%.${digits}f %s".formatLocal(Locale.ROOT, b / math.pow(1024, i), units(i))
  }

  /** `docs/reasons.md`. */
  def markdown: String = {
    val topics = all.map(_.topic).distinct.map { topic =>
      val rows = all.filter(_.topic == topic).map { t =>
        val sentence = ReasonTemplate.shown(t.sentence)
        s"| `${t.code}` | $sentence | ${t.advice} | ${t.setting.fold("")(s => s"`$s`")} |"
      }
      s"\n## $topic\n\n| code | what the report says | what it means, what to do | setting |\n| --- | --- | --- | --- |\n" +
        rows.mkString("", "\n", "\n")
    }
    "# Reasons\n\nGenerated from the package `reason`; `make docs` writes it anew. Every decision in a report has one of these " +
      "codes, its numbers as\narguments (`reason.args`), and the setting that would change the decision, if there is one.\n" +
      topics.mkString
  }
}

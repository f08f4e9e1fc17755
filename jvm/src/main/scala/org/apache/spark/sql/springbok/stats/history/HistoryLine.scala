package org.apache.spark.sql.springbok.stats.history

import java.nio.charset.StandardCharsets.UTF_8
import java.util.zip.CRC32

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode

/**
 * An entry as a line of a file: a checksum of 8 hexadecimal digits, a space and an object in JSON. Python reads the same
 * lines.
 *
 * {{{
 *   5f3a9c01 {"v":1,"rows":120,"key":"…","runs":3,"last":1764000000000,"inputs":[[2,1024,"…"]],"distinct":{"…":7},"label":"Filter orders"}
 *   0c11d2e4 {"v":1,"selectivity":0.01,"key":"…","runs":1,"last":1764000000000}
 * }}}
 *
 * A line that was written by half, changed, or made by a later version is no entry. Whatever a line says, it is only data: numbers within
 * their ranges and digests.
 */
private[history] object HistoryLine {
  val version = 1

  /** Characters of the longest line that is read. */
  val maxLength: Int = 16 << 10

  private val json = new ObjectMapper()
  private val (maxInputs, maxLabel) = (100, 300)

  /** More can be counted. */
  private val maxRuns = 1000000000L

  /** Whether a line of the entry would be read again. */
  def fits(e: LearnedEntry): Boolean = e match {
    case LearnedEntry.OfRows(_, l, _) => l.inputs.size <= maxInputs
    case _: LearnedEntry.OfSelectivity => true
  }

  def write(e: LearnedEntry): String = {
    val o = json.createObjectNode().put("v", version)
    e match {
      case LearnedEntry.OfRows(key, l, label) =>
        o.put("rows", l.rows).put("key", key.toString).put("runs", l.runs).put("last", l.lastMs)
        val inputs = o.putArray("inputs")
        l.inputs.foreach(i => inputs.addArray().add(i.files).add(i.bytes).add(i.state.toString))
        if (l.distinct.nonEmpty) {
          val distinct = o.putObject("distinct")
          l.distinct.foreach { case (column, n) => distinct.put(column.toString, n) }
        }
        label.foreach(text => o.put("label", text.take(maxLabel)))
      case LearnedEntry.OfSelectivity(key, l) =>
        o.put("selectivity", l.selectivity)
          .put("key", key.toString)
          .put("runs", l.runs)
          .put("last", l.lastMs): Unit
    }
    val text = json.writeValueAsString(o)
    f"${checksum(text)}%08x $text"
  }

  /**
   * @param nowMs
   *   entries are not from later times
   */
  def read(line: String, nowMs: Long): Option[LearnedEntry] =
    if (line.length > maxLength || line.length < 10 || line.charAt(8) != ' ') None
    else {
      val text = line.substring(9)
      if (!matches(checksum(text), line)) None
      else
        Try(json.readTree(text)).toOption
          .collect {
            case o: ObjectNode if number(o, "v").contains(version.toLong) => o
          }
          .flatMap(entry(_, nowMs))
    }

  private def entry(o: ObjectNode, nowMs: Long): Option[LearnedEntry] = for {
    key <- digest(o.get("key"))
    runs <- number(o, "runs").filter(n => n >= 1 && n <= maxRuns)
    last <- number(o, "last").filter(n => n >= 0 && n <= nowMs)
    made <- number(o, "rows") match {
      case Some(rows) if rows >= 0 =>
        val label = Option(o.get("label")).filter(_.isTextual).map(_.textValue.take(maxLabel))
        for (i <- inputs(o.get("inputs")); d <- distinct(o.get("distinct"), rows))
          yield LearnedEntry.OfRows(key, LearnedRows(rows, i, runs.toInt, last, d), label)
      case _ =>
        val s =
          Option(o.get("selectivity")).filter(_.isNumber).map(_.doubleValue).filter(s => s > 0 && s <= 1)
        s.map(s => LearnedEntry.OfSelectivity(key, LearnedSelectivity(s, runs.toInt, last)))
    }
  } yield made

  private def inputs(n: JsonNode): Option[Seq[InputFingerprint]] =
    Option(n).filter(a => a.isArray && a.size <= maxInputs).flatMap { a =>
      Digest.all(a.elements.asScala.toList) { i =>
        if (!i.isArray || i.size != 3) None
        else
          for (files <- number(i.get(0)); bytes <- number(i.get(1)); state <- digest(i.get(2)))
            yield InputFingerprint(files, bytes, state)
      }
    }

  /** No column has more values than there are rows. */
  private def distinct(n: JsonNode, rows: Long): Option[Map[Digest, Long]] =
    if (n == null) Some(Map.empty)
    else if (!n.isObject || n.size > LearnedRows.mostColumns) None
    else
      Digest
        .all(n.properties.asScala) { column =>
          for (key <- digest(column.getKey); d <- number(column.getValue) if d >= 0 && d <= rows)
            yield key -> d
        }
        .map(_.toMap)

  private def number(o: ObjectNode, name: String): Option[Long] = number(o.get(name))

  private def number(n: JsonNode): Option[Long] =
    Option(n).filter(_.canConvertToLong).filter(_.isIntegralNumber).map(_.longValue)

  private def digest(n: JsonNode): Option[Digest] =
    Option(n).filter(_.isTextual).flatMap(t => digest(t.textValue))

  private def digest(text: String): Option[Digest] =
    Some(text).filter(s => s.length == 32 && s.forall(isHex)).map { s =>
      Digest(
        java.lang.Long.parseUnsignedLong(s.substring(0, 16), 16),
        java.lang.Long.parseUnsignedLong(s.substring(16), 16)
      )
    }

  private def isHex(c: Char): Boolean = c >= '0' && c <= '9' || c >= 'a' && c <= 'f'

  private def matches(checksum: Long, line: String): Boolean = {
    val written = line.substring(0, 8)
    written.forall(isHex) && java.lang.Long.parseLong(written, 16) == checksum
  }

  private def checksum(text: String): Long = {
    val crc = new CRC32
    crc.update(text.getBytes(UTF_8))
    crc.getValue
  }
}

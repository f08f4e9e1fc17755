package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.springbok.reason.Reason
import org.json4s.{JArray, JDouble, JField, JNothing, JNull, JObject, JString, JValue}
import org.json4s.JsonDSL._

/** What all parts of the document write alike. */
private[springbok] object ReportJson {
  def reason(r: Reason): JObject =
    ("code" -> r.code) ~
      ("text" -> r.text) ~
      ("setting" -> r.setting) ~
      ("args" -> JObject(r.args.map { case (k, v) => JField(k, value(v)) }.toList))

  def value(v: Any): JValue = v match {
    case s: String => JString(s)
    case d: Double => if (d.isNaN || d.isInfinite) JNull else JDouble(d)
    case l: Long => l
    case i: Int => i
    case s: Seq[?] => JArray(s.map(x => JString(x.toString)).toList)
    case _ => JNothing
  }

  /** A number that JSON can write. */
  def finite(d: Option[Double]): Option[Double] = d.filter(x => !x.isNaN && !x.isInfinite)

  /**
   * How far an estimate is off, as a factor of 1 or more, whichever way (Moerkotte et al., "Preventing bad plans by
   * bounding the impact of cardinality estimation errors", 2009). Less than one row counts as one.
   */
  def qError(estimated: Option[Double], observed: Option[Long]): Option[Double] =
    for (e <- finite(estimated); o <- observed) yield {
      val (a, b) = (math.max(1.0, e), math.max(1.0, o.toDouble))
      math.max(a / b, b / a)
    }

  /** Numbers of expressions such as `#12L` mean nothing to a reader. */
  def plain(text: String, most: Int = 160): String = {
    val t = text.replaceAll("#\\d+L?", "")
    if (t.length <= most) t else t.take(most - 1) + "…"
  }
}

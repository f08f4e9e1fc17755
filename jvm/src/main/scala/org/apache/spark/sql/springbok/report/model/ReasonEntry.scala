package org.apache.spark.sql.springbok.report.model

import scala.collection.immutable.ListMap

import org.apache.spark.sql.springbok.reason.Reason

@describe("A code of docs/reasons.md with its numbers.")
final case class ReasonEntry(
    @matching("^[A-Z][A-Z_]+$") code: String,
    text: String,
    setting: Option[String],
    args: Map[String, Any]
)

object ReasonEntry {
  def apply(r: Reason): ReasonEntry =
    ReasonEntry(
      r.code,
      r.text,
      r.setting,
      ListMap.from(r.args.collect(Function.unlift { case (k, v) => value(v).map(k -> _) }))
    )

  /** A value as JSON can write it: null for a number that is none. */
  private def value(v: Any): Option[Any] = v match {
    case d: Double => Some(if (d.isNaN || d.isInfinite) null else d)
    case _: String | _: Long | _: Int => Some(v)
    case s: Seq[?] => Some(s.map(_.toString))
    case _ => None
  }
}

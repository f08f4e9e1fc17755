package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.util.Utils

/** What all parts of the report do with numbers and texts. */
private[springbok] object Shown {

  /** A number that JSON can write. */
  def finite(d: Option[Double]): Option[Double] = d.filter(x => !x.isNaN && !x.isInfinite)

  /**
   * How far an estimate is off, as a factor of 1 or more in either direction (Moerkotte et al., "Preventing bad plans by
   * bounding the impact of cardinality estimation errors", 2009). Less than one row counts as one.
   */
  def qError(estimated: Option[Double], observed: Option[Long]): Option[Double] =
    for (e <- finite(estimated); o <- observed) yield {
      val (a, b) = (math.max(1.0, e), math.max(1.0, o.toDouble))
      math.max(a / b, b / a)
    }

  /** A text without numbers of expressions such as `#12L`, which mean nothing to a reader. */
  def plain(text: String, most: Int = 160): String = {
    // What is cut first may no longer match the pattern of what is secret.
    val t = Utils.redact(SQLConf.get.stringRedactionPattern, text).replaceAll("#\\d+L?", "")
    if (t.length <= most) t else t.take(most - 1) + "…"
  }
}

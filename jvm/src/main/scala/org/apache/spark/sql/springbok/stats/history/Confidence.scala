package org.apache.spark.sql.springbok.stats.history

import org.apache.spark.sql.springbok.stats.estimate.Rows

/**
 * How much rows that were counted say about inputs that may have changed since.
 *
 * @param share
 *   1 for the same inputs, 0 for others
 * @param growth
 *   bytes of the inputs now, for each byte that they had
 */
final private[history] case class Confidence(share: Double, growth: Double) {

  /**
   * The rows that are expected of the inputs as they are now: between those that were counted, grown as the inputs have
   * grown, and those that statistics estimate. They are no more than statistics allow, unless the inputs are the same.
   *
   * @param estimated
   *   by statistics, None if unknown
   */
  def rows(counted: Double, estimated: Option[Rows]): Double = {
    val grown = math.max(1.0, counted * growth)
    estimated.filter(_ => share < 1).fold(grown) { e =>
      val mixed = math.exp(share * math.log(grown) + (1 - share) * math.log(math.max(1.0, e.value)))
      math.min(mixed, math.max(1.0, e.bound))
    }
  }
}

private[history] object Confidence {

  /** Below this fraction of unchanged input, the history is ignored. */
  val least = 0.1

  /** Rows that are believed no more than this are believed once. */
  val doubted = 0.5

  /** How much is believed if files have been replaced by as many bytes of other files. */
  private val rewritten = doubted

  /** Of the same inputs in the same order. */
  def of(before: Seq[InputFingerprint], now: Seq[InputFingerprint]): Confidence =
    if (before == now) Confidence(1, 1)
    else if (before.size != now.size) Confidence(0, 1)
    else {
      val growth = size(now) / size(before)
      // Appending adds files. Otherwise files may have been replaced.
      val appended =
        before.zip(now).forall { case (b, n) => b == n || n.files > b.files && n.bytes > b.bytes }
      Confidence(math.min(growth, 1 / growth) * (if (appended) 1 else rewritten), growth)
    }

  private def size(inputs: Seq[InputFingerprint]): Double = math.max(1.0, inputs.map(_.bytes.toDouble).sum)
}

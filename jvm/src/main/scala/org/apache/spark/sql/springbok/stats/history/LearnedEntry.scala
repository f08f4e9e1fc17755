package org.apache.spark.sql.springbok.stats.history

/** An entry of a history. */
sealed private[history] trait LearnedEntry {
  def key: Digest
  def lastMs: Long
}

private[history] object LearnedEntry {
  final case class OfRows(key: Digest, learned: LearnedRows, label: Option[String]) extends LearnedEntry {
    override def lastMs: Long = learned.lastMs
  }
  final case class OfSelectivity(key: Digest, learned: LearnedSelectivity) extends LearnedEntry {
    override def lastMs: Long = learned.lastMs
  }
}

package org.apache.spark.sql.springbok.report.model

import org.apache.spark.sql.springbok.stats.estimate.Source

@describe(
  "Runs of earlier queries that an estimate was learned from: how many there were, and when the last one ended, in ms since 1970."
)
final case class HistoryEntry(runs: Long, lastMs: Long)

private[springbok] object HistoryEntry {
  def of(source: Option[Source]): Option[HistoryEntry] = source.collect { case Source.History(runs, last) =>
    HistoryEntry(runs.toLong, last)
  }
}

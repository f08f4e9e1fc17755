package org.apache.spark.sql.springbok.physical

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.springbok.conf.HistoryConf
import org.apache.spark.sql.springbok.keys.kept.{CollectedKeys, FileState, KeptKeys, KeptKeysStore}
import org.apache.spark.sql.springbok.record.PlanningState

/**
 * Keeps the keys that a finished query has collected, for later queries of the application.
 *
 * '''When''': the files that it has read are still as they were listed, and were changed last some time before the query was
 * planned. So nobody has changed them while it read them, and a later change will have another time.
 *
 * '''Settings''': `spark.springbok.history.keys.*`.
 */
private[springbok] object KeepKeys {

  /** Called when the query has ended, on a thread that no query waits for. */
  def apply(session: SparkSession, state: PlanningState): Unit = {
    val most = session.sessionState.conf.getConf(HistoryConf.KEYS_MAX_BYTES)
    // The settings under which the query was planned have decided what is collected. The session may have others by now.
    for (c <- state.takeCollected(); files <- settled(c, session, state.sinceMs))
      KeptKeysStore
        .of(session.sparkContext)
        .keep(new KeptKeys(c.source, files, c.facts, state.sinceMs), most)
  }

  private def settled(c: CollectedKeys, session: SparkSession, sinceMs: Long): Option[Set[FileState]] =
    if (!c.listing.settled(c.files, sinceMs)) None
    else {
      val hadoop = session.sessionState.newHadoopConfWithOptions(c.source.table.options)
      c.listing.current(c.files, hadoop)
    }
}

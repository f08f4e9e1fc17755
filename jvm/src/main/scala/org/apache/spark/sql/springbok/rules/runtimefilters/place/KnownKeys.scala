package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.springbok.{KeptKeysExec, RuntimeFilterExec}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.HistoryConf
import org.apache.spark.sql.springbok.keys.BuildKey
import org.apache.spark.sql.springbok.keys.kept.KeptKeysStore
import org.apache.spark.sql.springbok.physical.BuildTable

/**
 * The keys of build sides that earlier queries of the application have collected.
 *
 * '''Settings''': `spark.springbok.history.keys.*`.
 */
final private[springbok] class KnownKeys(adaptive: Boolean, conf: SQLConf) {
  private val enabled = adaptive && HistoryConf.keepsKeys(conf)
  private lazy val store = KeptKeysStore.of(SparkSession.active.sparkContext)

  /** A key at its build side's exchange, and the table that it comes from, if its keys may be kept. */
  def table(key: CreationKey): Option[(BuildKey, BuildTable)] =
    if (!enabled || key.on.range.isDefined) None
    else
      for (at <- key.atExchange; table <- BuildTable.of(key.exchange, at, conf))
        yield at -> table

  /**
   * The keys of this table, if they are kept. The first planning of a join decides: scans may have started with its filters.
   * A build side that waits for filters itself starts after the scans that it filters: a refresh in between would give it
   * other files.
   */
  def keys(key: CreationKey, table: BuildTable): Option[KeptKeysExec] = {
    val (join, index) = (key.side.state, key.on.index)
    def waits = key.exchange.exists(_.isInstanceOf[RuntimeFilterExec])
    def kept =
      if (BuildSides.finished(key.exchange) || join.scansWait.contains(index) || waits) None
      else store.get(table.source).filter(_.listedBy(table.listing))
    join.knownKeys.get(index).filter(_.source == table.source).orElse(kept).map(KeptKeysExec(_)(table))
  }
}

package org.apache.spark.sql.springbok.physical

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.springbok.FilterInfo
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.keys.{BuildKey, KeyFacts, SourceKey}
import org.apache.spark.sql.springbok.keys.kept.CollectedKeys

/**
 * Takes note of the keys of a filter's finished build side, to be kept when the query has finished ([[KeepKeys]]).
 *
 * '''When''': all keys are listed, and the plan that has run still is the table with conditions that it was when the filter was
 * placed, with the same files, without filters of other joins, and under the same settings. A broadcast must have this key
 * alone: it has no rows in which another key is null.
 *
 * '''Settings''': `spark.springbok.history.keys.*`.
 */
private[springbok] object CollectKeys {

  /**
   * @param source
   *   the stage of the build side
   */
  def apply(info: FilterInfo, key: SourceKey, source: SparkPlan, facts: KeyFacts, conf: SQLConf): Unit = {
    def whole(placed: BuildKey) = key match {
      case SourceKey.Shuffle(k) => k == placed
      case SourceKey.Broadcast(_, types, _) => types.size == 1
      case SourceKey.Bound(_, _) => false
    }
    for {
      placed <- info.collects
      if whole(placed.key) && facts.values != null
      table <- BuildTable.of(source, placed.key, conf)
      if table.complete && table.source == placed.source
      // A refresh may have changed the listing while the build side ran.
      if table.listing.files.contains(placed.files)
    } info.query.collected(CollectedKeys(table.source, table.listing, placed.files, facts.copy()))
  }
}

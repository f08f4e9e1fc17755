package org.apache.spark.sql.springbok.physical

import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.apache.spark.sql.springbok.record.PlanningState
import org.apache.spark.sql.springbok.stats.history.{Observed, QueryHistory}
import org.apache.spark.sql.springbok.stats.operator.PlanStats
import org.apache.spark.sql.springbok.stats.source.ByIdentity

/**
 * Teaches the history the rows and the join keys of a finished query's parts.
 *
 * '''Settings''': `spark.springbok.history.*`.
 */
private[springbok] object LearnRows {

  /** A query that runs again counts anew, but its exchanges do not. */
  private val learned = ByIdentity[QueryExecution, java.lang.Boolean]()

  /**
   * @param state
   *   what planning remembers of the query, if Springbok has planned it
   * @param action
   *   what was done with the result
   * @param startMs
   *   when the query began, in ms since 1970
   */
  def apply(qe: QueryExecution, state: Option[PlanningState], action: String, startMs: Long): Unit = {
    // The session may have other settings by now than the query was planned with.
    def enabled = qe.sparkSession.sessionState.conf.getConf(SpringbokConf.ENABLED)
    def planned = state.fold(if (enabled) QueryHistory.current() else None)(_.lasting.history)
    for (history <- planned if learned.asMap.putIfAbsent(qe, true) == null) {
      history.end()
      val stats = new PlanStats(lasting = state.fold(new PlanStats.Lasting)(_.lasting))
      val counted = new ObservedRows(stats.footers(_).filter(_.exact).map(_.rows))
      history.learn(counted.of(qe.executedPlan, !mayStop(action)), stats(_).rows.map(_.value), startMs)
    }
  }

  /** A query that has failed or was cancelled, perhaps because it was slow, teaches no rows. What was doubted is forgotten. */
  def failed(state: Option[PlanningState]): Unit =
    state.flatMap(_.lasting.history).foreach(_.learn(Observed(Nil), _ => None, sinceMs = 0))

  /** Actions that hand rows over one by one, and may be stopped. */
  private def mayStop(action: String): Boolean = action.contains("Iterator") || action.contains("foreach")
}

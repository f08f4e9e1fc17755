package org.apache.spark.sql.springbok.record

import java.lang.ref.WeakReference

import scala.collection.concurrent.TrieMap

import org.apache.spark.SparkContext
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.springbok.catalyst.{CurrentExecution, OptimizedPlan}

/**
 * The queries of the application that run now, by Spark's numbers of their executions, which no two of a JVM share. Their
 * broadcasts share the driver's heap: a server runs those of many users at the same time.
 */
private[springbok] object RunningQueries {

  /** A cached table that an execution fills has a state of its own. */
  final private case class Key(execution: Long, state: Int)

  private val running = TrieMap.empty[Key, WeakReference[PlanningState]]

  /** Takes note of the query that this thread plans, if it is being executed. */
  def planned(sc: SparkContext, query: PlanningState): Unit =
    CurrentExecution.id(sc).foreach(put(_, query))

  /** An execution has started. Its query may have been planned before: servers print the plan first. */
  def started(execution: Long): Unit = for {
    qe <- Option(SQLExecution.getQueryExecution(execution))
    plan <- OptimizedPlan.of(qe)
    state <- PlanningState.of(plan)
  } put(execution, state)

  /** An execution has ended. */
  def ended(execution: Long): Unit =
    running.keysIterator.filter(_.execution == execution).foreach(running.remove(_): Unit)

  private def put(execution: Long, query: PlanningState): Unit =
    running.put(Key(execution, System.identityHashCode(query.root)), new WeakReference(query.root)): Unit

  private[record] def count: Int = running.size

  /** Bytes of the rows that the broadcasts of all queries but this one hold. */
  def heldBeside(query: PlanningState): Double =
    states.filter(_ ne query.root).flatMap(_.joins).map(_.heldBytes).sum

  private def states: Seq[PlanningState] = {
    // Spark forgets an execution as soon as it has ended.
    for ((key, q) <- running if q.get == null || SQLExecution.getQueryExecution(key.execution) == null)
      running.remove(key, q): Unit
    running.values.flatMap(q => Option(q.get)).map(_.root).toSeq.distinct
  }
}

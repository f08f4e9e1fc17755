package org.apache.spark.sql.springbok.record

import java.lang.ref.WeakReference

import scala.collection.concurrent.TrieMap
import scala.util.Try

import org.apache.spark.SparkContext
import org.apache.spark.sql.execution.SQLExecution

/**
 * The queries of the application that run now, by Spark's numbers of their executions, which no two of a JVM share. Their
 * broadcasts share the driver's heap: a server runs those of many users at the same time.
 */
private[springbok] object RunningQueries {

  /** A query whose end Spark's listener bus drops goes with its plan. */
  private val running = TrieMap.empty[Long, WeakReference[PlanningState]]

  /** Takes note of the query that this thread plans, if it is being executed. */
  def planned(sc: SparkContext, query: PlanningState): Unit =
    Option(sc.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))
      .flatMap(id => Try(id.toLong).toOption)
      .foreach(id => running.put(id, new WeakReference(query.root)))

  def ended(execution: Long): Unit = running.remove(execution): Unit

  /** Bytes of the rows that the broadcasts of all queries but this one hold. */
  def heldBeside(query: PlanningState): Double =
    states.filter(_ ne query.root).flatMap(_.joins).map(_.heldBytes).sum

  private def states: Seq[PlanningState] = {
    running.foreach { case (id, q) => if (q.get == null) running.remove(id, q): Unit }
    // A query may have several executions, as one that writes has.
    running.values.flatMap(q => Option(q.get)).map(_.root).toSeq.distinct
  }
}

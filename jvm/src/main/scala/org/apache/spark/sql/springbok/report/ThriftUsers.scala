package org.apache.spark.sql.springbok.report

import scala.util.Try

import org.apache.spark.scheduler.SparkListenerEvent

/**
 * Who runs the statements of a Thrift server. The application has one user and each of the server's sessions another.
 *
 * Spark tells it in an event of its Thrift server's module, which an application may lack and the jar does not depend on. A
 * statement is the job group of its queries.
 */
final private[report] class ThriftUsers {
  import ThriftUsers._

  private val users = LatestEntries[String, String](most)

  def event(e: SparkListenerEvent): Unit =
    if (e.getClass.getName == statementStarted)
      for (group <- text(e, "groupId"); user <- text(e, "userName")) users.put(group, user): Unit

  /** The user of the statement with this job group. */
  def of(jobGroup: String): Option[String] = Option(users.get(jobGroup))

  private def text(e: SparkListenerEvent, field: String): Option[String] =
    Try(e.getClass.getMethod(field).invoke(e)).toOption.collect { case s: String if s.nonEmpty => s }
}

private object ThriftUsers {
  private val statementStarted =
    "org.apache.spark.sql.hive.thriftserver.ui.SparkListenerThriftServerOperationStart"

  /** The statements that are remembered. More than a server runs at a time. */
  private val most = 1000
}

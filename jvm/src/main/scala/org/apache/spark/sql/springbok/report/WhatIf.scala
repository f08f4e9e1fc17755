package org.apache.spark.sql.springbok.report

import java.util.{Map => JMap}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.Row
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.execution.{CommandExecutionMode, QueryExecution}
import org.apache.spark.sql.springbok.conf.SpringbokConf

/**
 * The report of a query as it would be planned under other settings, `spark.springbok.cluster.*` first of all. It plans a
 * copy of the query in a clone of the session: neither the query nor its session changes, and nothing runs.
 */
object WhatIf {

  /** Of a DataFrame's own `queryExecution`, with settings by their full keys. */
  def json(qe: QueryExecution, settings: JMap[String, String]): String =
    SpringbokReport.json(planned(qe, settings.asScala.toMap))

  /** The same query, to be run with Springbok switched on or off. */
  def dataset(qe: QueryExecution, enabled: Boolean): Dataset[Row] =
    Dataset.ofRows(clone(qe, Map(SpringbokConf.ENABLED.key -> enabled.toString)), qe.commandExecuted)

  private def clone(qe: QueryExecution, settings: Map[String, String]): SparkSession = {
    val session = qe.sparkSession.cloneSession()
    settings.foreach { case (k, v) => session.conf.set(k, v) }
    session
  }

  def planned(qe: QueryExecution, settings: Map[String, String]): QueryExecution = {
    val session = clone(qe, settings)
    session.withActive {
      val other = session.sessionState.executePlan(qe.commandExecuted, CommandExecutionMode.SKIP)
      other.executedPlan
      other
    }
  }
}

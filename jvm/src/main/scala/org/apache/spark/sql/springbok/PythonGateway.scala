package org.apache.spark.sql.springbok

import java.util.{ArrayList, List => JList, Map => JMap}

import org.apache.spark.sql.Row
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.springbok.catalyst.RuleGuard
import org.apache.spark.sql.springbok.report.{LastReports, SpringbokReport, WhatIf}
import org.apache.spark.sql.springbok.report.page.ReportPage
import org.apache.spark.sql.springbok.rules.joins.ReviseJoinStrategy

/**
 * All that the Python package calls.
 *
 * It hands over documents in pieces: py4j writes an answer in blocks of 8 KiB, and the last of several blocks waits for TCP's
 * delayed acknowledgement, 40 ms.
 */
object PythonGateway {
  private val piece = 6000

  /** Whether the session has Springbok's rules, switched on or not. */
  def isActive(session: SparkSession): Boolean =
    session.sessionState.adaptiveRulesHolder.runtimeOptimizerRules.contains(ReviseJoinStrategy)

  /** The report of a query. */
  def report(qe: QueryExecution): JList[String] = pieces(SpringbokReport.json(qe))

  /** The report of a query as it would be planned under other settings, which have their full keys. */
  def whatIf(qe: QueryExecution, settings: JMap[String, String]): JList[String] =
    pieces(WhatIf.json(qe, settings))

  /** The report of this query's last run; null if it has not run. */
  def ran(qe: QueryExecution): JList[String] = Option(LastReports.of(qe)).map(pieces).orNull

  /** The reports of the session's last `n` queries, as one JSON array. */
  def last(session: SparkSession, n: Int): JList[String] = pieces(
    LastReports.last(session, n).mkString("[", ",", "]")
  )

  /** A report, given as JSON, as a whole HTML page or as a part of one. */
  def html(report: String, page: Boolean): JList[String] = pieces(ReportPage.html(report, page))

  /** The same query, to be run with Springbok switched on or off. */
  def dataset(qe: QueryExecution, enabled: Boolean): Dataset[Row] = WhatIf.dataset(qe, enabled)

  /** Time in ns in each of Springbok's rules since the JVM started. */
  def spentNanosByRule: JMap[String, Long] = RuleGuard.spentNanosByRule

  /** The same, of the time on a core alone. */
  def cpuNanosByRule: JMap[String, Long] = RuleGuard.cpuNanosByRule

  /** Half of a surrogate pair has no form in UTF-8, so no piece ends in the middle of one. */
  private def pieces(text: String): JList[String] = {
    val made = new ArrayList[String]
    var from = 0
    while (from < text.length) {
      val end = math.min(text.length, from + piece)
      val to = if (end < text.length && Character.isHighSurrogate(text.charAt(end - 1))) end - 1 else end
      made.add(text.substring(from, to))
      from = to
    }
    made
  }
}

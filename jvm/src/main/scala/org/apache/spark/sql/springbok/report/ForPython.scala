package org.apache.spark.sql.springbok.report

import java.util.{List => JList, Map => JMap}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.QueryExecution

/**
 * The documents that Python reads, in pieces: py4j writes an answer in blocks of 8 KiB, and the last of several waits for
 * TCP's delayed acknowledgement, 40 ms.
 */
object ForPython {
  private val piece = 6000

  def report(qe: QueryExecution): JList[String] = pieces(SpringbokReport.json(qe))

  def whatIf(qe: QueryExecution, settings: JMap[String, String]): JList[String] =
    pieces(WhatIf.json(qe, settings))

  /** Of this query's run; null if it has not run. */
  def ran(qe: QueryExecution): JList[String] = Option(LastReports.of(qe)).map(pieces).orNull

  def last(session: SparkSession, n: Int): JList[String] = pieces(LastReports.last(session, n))

  private def pieces(text: String): JList[String] = text.grouped(piece).toSeq.asJava
}

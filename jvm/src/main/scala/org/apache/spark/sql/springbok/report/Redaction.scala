package org.apache.spark.sql.springbok.report

import scala.jdk.CollectionConverters._
import scala.util.matching.Regex

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode, TextNode}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.springbok.report.model.QueryReport
import org.apache.spark.util.Utils

/**
 * Takes out of a report what `spark.sql.redaction.string.regex` matches: in all texts but those that are Springbok's own
 * words. The texts of query and execution are redacted where they are made as well, because Spark cuts them.
 */
final private[report] class Redaction(pattern: Option[Regex]) {
  def apply(r: QueryReport): QueryReport =
    if (pattern.isEmpty) r else ReportJson.changed(r)(redacted(_, Redaction.own))

  private def redacted(node: JsonNode, kept: Set[String]): JsonNode = {
    node match {
      case o: ObjectNode =>
        for (name <- o.fieldNames.asScala.toSeq if !kept(name))
          // The names of a reason's arguments are others.
          o.replace(name, redacted(o.get(name), if (name == "args") Set.empty else kept)): Unit
      case a: ArrayNode => for (i <- 0 until a.size) a.set(i, redacted(a.get(i), kept)): Unit
      case _ =>
    }
    if (node.isTextual) new TextNode(Utils.redact(pattern, node.textValue)) else node
  }
}

private[report] object Redaction {

  /** Fields of no text from the query, its tables or its user: words, codes, ids, versions and names of settings. */
  private val own =
    Set("id", "code", "setting", "status", "state", "kind", "kinds", "phase", "strategy", "planned") ++
      Set("spark_strategy", "build", "distribution", "rows_source", "pushed", "timing", "scope") ++
      Set(
        "runtime_filters",
        "filter",
        "springbok",
        "spark",
        "statement",
        "action",
        "rule",
        "error",
        "mode",
        "format"
      )

  def of(session: SparkSession): Redaction = new Redaction(session.sessionState.conf.stringRedactionPattern)
}

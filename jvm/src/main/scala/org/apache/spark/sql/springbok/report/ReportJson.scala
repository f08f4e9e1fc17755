package org.apache.spark.sql.springbok.report

import com.fasterxml.jackson.annotation.{JsonIgnoreProperties, JsonInclude, JsonSetter, Nulls}
import com.fasterxml.jackson.databind.{
  DeserializationFeature,
  JsonNode,
  ObjectMapper,
  PropertyNamingStrategies
}
import com.fasterxml.jackson.module.scala.DefaultScalaModule
import org.apache.spark.scheduler.SparkListenerEvent
import org.apache.spark.sql.springbok.report.model.QueryReport

/**
 * Writes reports as JSON, and reads them: names in snake case, and what is unknown left out.
 *
 * The JVM erases the type of a number in an Option, a Seq or a Map. Such numbers are of type Long or Double in the report's
 * classes, because the reader makes every integer a Long.
 */
private[springbok] object ReportJson {
  private val mapper = new ObjectMapper()
    .registerModule(DefaultScalaModule)
    .setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
    .setDefaultPropertyInclusion(
      JsonInclude.Value.construct(JsonInclude.Include.NON_ABSENT, JsonInclude.Include.ALWAYS)
    )
    .enable(DeserializationFeature.USE_LONG_FOR_INTS)

  // A report of an earlier version has fewer lists.
  mapper.configOverride(classOf[Seq[Any]]).setSetterInfo(JsonSetter.Value.forValueNulls(Nulls.AS_EMPTY)): Unit

  def write(r: QueryReport): String = mapper.writeValueAsString(r)

  /** The report as its JSON is after a change. */
  def changed(r: QueryReport)(change: JsonNode => JsonNode): QueryReport =
    mapper.treeToValue(change(mapper.valueToTree[JsonNode](r)), classOf[QueryReport])

  /**
   * A report that was written by this version, or by an earlier one of the same format.
   *
   * @throws com.fasterxml.jackson.core.JsonProcessingException
   *   the text is damaged, or of another format
   */
  def read(json: String): QueryReport = mapper.readValue(json, classOf[QueryReport])
}

/**
 * A query's report, for listeners and the event log. Its name and fields never change, because old logs have to stay readable.
 *
 * @param executionId
 *   the query's number in Spark's SQL tab
 * @param report
 *   JSON as `docs/report.schema.json` describes it; its `version` says of which format
 */
@JsonIgnoreProperties(Array("forLog", "made"))
final case class SpringbokReportEvent(executionId: Long, report: String) extends SparkListenerEvent {
  private var forLog = false

  /** What the text says, for the application that has written it: reading a text takes as long as writing it. */
  @transient private[springbok] var made: Option[QueryReport] = None

  /** On the bus, the event log's own listener passes it by: `ReportEvents` writes each event, and once. */
  override protected[spark] def logEvent: Boolean = forLog

  /** The same event, to be written. */
  private[report] def toLog: SpringbokReportEvent = {
    val written = copy()
    written.forLog = true
    written
  }
}

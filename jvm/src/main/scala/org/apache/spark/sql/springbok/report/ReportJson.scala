package org.apache.spark.sql.springbok.report

import com.fasterxml.jackson.annotation.JsonInclude
import com.fasterxml.jackson.databind.{ObjectMapper, PropertyNamingStrategies}
import com.fasterxml.jackson.module.scala.DefaultScalaModule
import org.apache.spark.sql.springbok.report.model.QueryReport

/** Writes reports as JSON: names in snake case, and what is unknown left out. */
private[springbok] object ReportJson {
  private val mapper = new ObjectMapper()
    .registerModule(DefaultScalaModule)
    .setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
    .setDefaultPropertyInclusion(
      JsonInclude.Value.construct(JsonInclude.Include.NON_ABSENT, JsonInclude.Include.ALWAYS)
    )

  def write(r: QueryReport): String = mapper.writeValueAsString(r)
}

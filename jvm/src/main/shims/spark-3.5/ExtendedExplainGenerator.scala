package org.apache.spark.sql

import org.apache.spark.sql.execution.SparkPlan

/** Spark 4.0's provider of a section of EXPLAIN. This version has none: the section is in the report alone. */
trait ExtendedExplainGenerator {
  def title: String
  def generateExtendedInfo(plan: SparkPlan): String
}

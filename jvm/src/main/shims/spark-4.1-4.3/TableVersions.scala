package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.connector.catalog.Table

/** The version that a table object reads, if its connector tells it. */
object TableVersions {
  def of(table: Table): Option[String] = Option(table.version)
}

package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.connector.catalog.Table

/** The version that a table object reads: these versions of Spark do not ask for it. */
object TableVersions {
  def of(table: Table): Option[String] = None
}

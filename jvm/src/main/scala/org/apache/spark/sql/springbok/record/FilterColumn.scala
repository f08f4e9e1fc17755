package org.apache.spark.sql.springbok.record

/** The column of a table that a filter is applied to. */
final case class FilterColumn(table: String, column: String)

package org.apache.spark.sql.springbok.report.model

@describe(
  "A column that the query gives, or that it writes, with the columns of base tables that its values are computed from."
)
final case class OutputEntry(column: String, `type`: String, sources: Seq[String])

@describe("Where a statement writes: a table, or files at a path.")
final case class SinkEntry(
    @oneOf(
      "append",
      "overwrite",
      "overwrite part",
      "create",
      "create if absent",
      "replace",
      "create or replace",
      "merge",
      "update",
      "delete"
    ) mode: String,
    table: Option[String] = None,
    path: Option[String] = None,
    format: Option[String] = None,
    partitionColumns: Seq[String] = Nil
)

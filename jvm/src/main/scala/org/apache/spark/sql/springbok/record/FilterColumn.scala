package org.apache.spark.sql.springbok.record

import org.apache.spark.sql.catalyst.expressions.ExprId

/**
 * The column of a table that a filter is applied to.
 *
 * @param id
 *   the scan's column, which tells tables of one name apart
 */
final case class FilterColumn(table: String, column: String, id: ExprId)

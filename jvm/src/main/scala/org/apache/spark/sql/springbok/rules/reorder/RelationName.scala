package org.apache.spark.sql.springbok.rules.reorder

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.springbok.catalyst.{FileTable, TableName}

/** The name of a relation of a join: the tables in it. */
private[springbok] object RelationName {
  def apply(p: LogicalPlan): String = {
    val tables = p.collect { case FileTable(r, fs) =>
      TableName(r.catalogTable.map(_.identifier), fs)
    }
    if (tables.isEmpty) p.nodeName else tables.map(_.getOrElse("?")).mkString("+")
  }
}

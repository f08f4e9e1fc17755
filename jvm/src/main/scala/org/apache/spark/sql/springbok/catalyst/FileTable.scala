package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/** A table of files: the logical node, and what it reads. */
object FileTable {
  def unapply(p: LogicalPlan): Option[(LogicalRelation, HadoopFsRelation)] = p match {
    case r: LogicalRelation =>
      r.relation match {
        case fs: HadoopFsRelation => Some((r, fs))
        case _ => None
      }
    case _ => None
  }
}

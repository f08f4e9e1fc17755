package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.execution.{LeafExecNode, SparkPlan}

/**
 * A scan of a Hive table by Hive's own readers: text and other serdes, and Parquet and ORC if Spark does not convert them.
 *
 * Its operator belongs to Spark's Hive module, which an application may lack and the jar does not depend on. It is
 * recognized by the table that it was made for, which is a class of Catalyst. No other leaf is made for such a table.
 */
object HiveScan {
  def unapply(p: SparkPlan): Option[HiveTableRelation] = p match {
    case leaf: LeafExecNode => leaf.productIterator.collectFirst { case r: HiveTableRelation => r }
    case _ => None
  }

  /**
   * Whether the rows are those of the table's files, and not those of another system that a storage handler asks. The scan
   * lists its files once, so a task that runs again reads the same ones.
   */
  def ofFiles(table: HiveTableRelation): Boolean =
    !table.tableMeta.unsupportedFeatures.contains("storage handler")
}

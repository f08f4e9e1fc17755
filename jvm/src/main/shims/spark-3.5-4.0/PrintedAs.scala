package org.apache.spark.sql.springbok.catalyst

import java.util.{ArrayList => JArrayList}

import org.apache.spark.sql.execution.SparkPlan

/** An operator that EXPLAIN prints as another one. */
trait PrintedAs extends SparkPlan {
  protected def printedAs(maxFields: Int): SparkPlan

  override def generateTreeString(
      depth: Int,
      lastChildren: JArrayList[Boolean],
      append: String => Unit,
      verbose: Boolean,
      prefix: String,
      addSuffix: Boolean,
      maxFields: Int,
      printNodeId: Boolean,
      indent: Int
  ): Unit = printedAs(maxFields).generateTreeString(
    depth,
    lastChildren,
    append,
    verbose,
    prefix,
    addSuffix,
    maxFields,
    printNodeId,
    indent
  )
}

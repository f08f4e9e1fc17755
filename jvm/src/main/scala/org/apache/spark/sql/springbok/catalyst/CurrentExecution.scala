package org.apache.spark.sql.springbok.catalyst

import scala.util.Try

import org.apache.spark.SparkContext
import org.apache.spark.sql.execution.{QueryExecution, SQLExecution}

/** The execution of a query that this thread works for. */
private[springbok] object CurrentExecution {

  /** Spark's number of it. */
  def id(sc: SparkContext): Option[Long] =
    Option(sc.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)).flatMap(id => Try(id.toLong).toOption)

  /** The query, as long as it runs. */
  def query(sc: SparkContext): Option[QueryExecution] =
    id(sc).flatMap(id => Option(SQLExecution.getQueryExecution(id)))
}

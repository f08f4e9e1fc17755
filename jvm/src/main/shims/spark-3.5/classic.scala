package org.apache.spark.sql

/** The names that the sources use: from Spark 4.0 the classes stand in this package. */
package object classic {
  type SparkSession = org.apache.spark.sql.SparkSession
  val SparkSession: org.apache.spark.sql.SparkSession.type = org.apache.spark.sql.SparkSession
  type DataFrame = org.apache.spark.sql.DataFrame
  type Dataset[T] = org.apache.spark.sql.Dataset[T]
  val Dataset: org.apache.spark.sql.Dataset.type = org.apache.spark.sql.Dataset
}

package org.apache.spark.sql.springbok.catalyst

import java.util.Properties

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.util.collection.BitSet

/** Everything that depends on the Spark version: the version that this jar was made for, and calls whose signatures differ. */
object SparkLine {
  private val properties = {
    val p = new Properties()
    Option(getClass.getClassLoader.getResourceAsStream("springbok.properties")).foreach { in =>
      try p.load(in)
      finally in.close()
    }
    p
  }

  /** Springbok's own version. */
  val version: String = properties.getProperty("version", "unknown")

  /** The Spark that this jar was compiled for, as `major.minor`. */
  val compiledFor: String = line(properties.getProperty("spark.version", SPARK_VERSION))

  /** Why this jar may not be used on the Spark that runs, or None if it may. */
  def unsupported(running: String = SPARK_VERSION): Option[String] =
    Option.when(line(running) != compiledFor) {
      s"Springbok $version was made for Spark $compiledFor and this is Spark $running: it stays off and Spark plans " +
        s"alone; install the Springbok made for Spark ${line(running)}, or Spark $compiledFor."
    }

  private def line(v: String): String = v.split('.').take(2).mkString(".")

  /** The scan with other filters. */
  def withFilters(
      scan: FileSourceScanExec,
      dataFilters: Seq[Expression],
      partitionFilters: Seq[Expression]
  ): FileSourceScanExec =
    tagged(scan, scan.copy(dataFilters = dataFilters, partitionFilters = partitionFilters))

  /** The scan of only these buckets. */
  def withBuckets(scan: FileSourceScanExec, buckets: BitSet): FileSourceScanExec =
    tagged(scan, scan.copy(optionalBucketSet = Some(buckets)))

  /** The scan with one more predicate to hand to the connector when it starts. */
  def withRuntimeFilter(scan: BatchScanExec, predicate: Expression): BatchScanExec =
    tagged(scan, scan.copy(runtimeFilters = scan.runtimeFilters :+ predicate))

  private def tagged[T <: SparkPlan](scan: T, copy: T): T = {
    copy.copyTagsFrom(scan)
    copy
  }
}

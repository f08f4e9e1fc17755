package org.apache.spark.sql.springbok.physical

import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan, UnionExec}
import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, ShuffleExchangeLike}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.RowFilter
import org.apache.spark.sql.springbok.stats.estimate.Estimate

/**
 * How many tasks a stage is expected to have.
 *
 * @param rows
 *   expected rows of an operator
 * @param cores
 *   tasks that run at the same time
 */
final private[springbok] class StageTasks(rows: SparkPlan => Option[Double], cores: Int, conf: SQLConf) {

  /** Tasks of the stage that the operator is in; at least 1. */
  def apply(p: SparkPlan): Double = p match {
    case s: FileSourceScanExec => StageTasks.splits(s, cores, conf)
    case q: ShuffleQueryStageExec if q.isMaterialized =>
      coalesced(q.getRuntimeStatistics.sizeInBytes.toDouble, q)
    case e @ (_: ShuffleQueryStageExec | _: ShuffleExchangeLike) =>
      coalesced(rows(e).getOrElse(0.0) * EstimationUtils.getSizePerRow(e.output).toDouble, e)
    case _: BroadcastExchangeLike => 1
    case f: RowFilter => apply(f.child)
    case u: UnionExec => u.children.map(apply).sum
    case leaf if leaf.children.isEmpty => cores.toDouble
    case _ => p.children.map(apply).max
  }

  /** Partitions of a shuffle after adaptive execution has coalesced them, see `CoalesceShufflePartitions`. */
  private def coalesced(bytes: Double, exchange: SparkPlan): Double = {
    val advised = conf.getConf(SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES).toDouble
    val least = conf.getConf(SQLConf.COALESCE_PARTITIONS_MIN_PARTITION_SIZE).toDouble
    val size =
      if (conf.getConf(SQLConf.COALESCE_PARTITIONS_PARALLELISM_FIRST))
        math.max(least, math.min(advised, bytes / cores))
      else advised
    math.max(1.0, math.min(exchange.outputPartitioning.numPartitions.toDouble, math.ceil(bytes / size)))
  }
}

private[springbok] object StageTasks {

  /** Splits of a scan's files, see `FilePartition.maxSplitBytes`. All partitions count, also those that are pruned later. */
  def splits(scan: FileSourceScanExec, cores: Int, conf: SQLConf): Double =
    splits(scan.relation.sizeInBytes, cores, conf)

  /** Splits of files of so many bytes. */
  def splits(size: BigInt, cores: Int, conf: SQLConf): Double =
    // The size of a catalog table without statistics is a stand-in, and its number of tasks is unknown.
    Estimate.known(size).fold(cores.toDouble) { bytes =>
      val even = bytes / conf.filesMinPartitionNum.getOrElse(cores)
      val size =
        math.min(conf.filesMaxPartitionBytes.toDouble, math.max(conf.filesOpenCostInBytes.toDouble, even))
      math.max(1.0, math.ceil(bytes / size))
    }
}

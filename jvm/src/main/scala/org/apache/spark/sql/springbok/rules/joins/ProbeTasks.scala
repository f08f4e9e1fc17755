package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{FileTable, Sides, SparkPlanning}
import org.apache.spark.sql.springbok.physical.StageTasks

/** Tasks that read a side in the stage of its join, if the other side is broadcast. Only executors that run one fetch it. */
private[joins] object ProbeTasks {

  /** None if unknown. */
  def of(side: LogicalPlan, cores: Int, conf: SQLConf): Option[Double] = side match {
    case FinishedShuffle(s) =>
      Some(new StageTasks(_ => None, cores, conf)(s))
    case FileTable(table, files) if files.bucketSpec.isEmpty =>
      // The node keeps its size: files are not counted again for each join.
      Some(StageTasks.splits(table.stats.sizeInBytes, cores, conf))
    case p: Project => of(p.child, cores, conf)
    case f: Filter => of(f.child, cores, conf)
    case j: Join =>
      SparkPlanning
        .broadcastSide(j, hintOnly = true, conf)
        .flatMap(build => of(Sides(j.left, j.right).swapped(build), cores, conf))
    case _ => None
  }
}

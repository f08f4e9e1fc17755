package org.apache.spark.sql.springbok.catalyst

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SaveMode
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand

/**
 * Whether a query deletes files that it reads. Spark deletes them before the last stage runs, so it depends on the plan whether
 * all of their rows have been read by then. Dynamic partition overwrite deletes only when the job commits, as Hive's tables
 * and table formats do.
 */
private[springbok] object OverwrittenInput {
  def in(plan: LogicalPlan): Boolean = plan match {
    case i: InsertIntoHadoopFsRelationCommand =>
      i.mode == SaveMode.Overwrite && !i.dynamicPartitionOverwrite && reads(i)
    case _ => false
  }

  private def reads(write: InsertIntoHadoopFsRelationCommand): Boolean = {
    val table = write.catalogTable.map(_.identifier)
    write
      .collectWithSubqueries { case FileTable(r, fs) =>
        table.exists(t => r.catalogTable.exists(_.identifier == t)) ||
        fs.location.rootPaths.exists(p => isBelow(p, write.outputPath) || isBelow(write.outputPath, p))
      }
      .contains(true)
  }

  private def isBelow(path: Path, folder: Path): Boolean =
    Iterator.iterate(path)(_.getParent).takeWhile(_ != null).contains(folder)
}

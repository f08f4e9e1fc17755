package org.apache.spark.sql.springbok.catalyst

import scala.util.Try

import org.apache.hadoop.fs.Path
import org.apache.spark.SparkContext
import org.apache.spark.sql.SaveMode
import org.apache.spark.sql.catalyst.QueryPlanningTracker
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.read.{Scan, SupportsReportStatistics}
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan, SQLExecution}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

object PlanInputs {

  /** The inputs of an operator: its children, or for a stage or a cached table the plan that computes it. */
  def of(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case q: QueryStageExec => Seq(q.plan)
    case a: AdaptiveSparkPlanExec => Seq(a.inputPlan)
    // Lost blocks are computed again.
    case m: InMemoryTableScanExec => Seq(m.relation.cachedPlan)
    case r: ReusedExchangeExec => Seq(r.child)
    case p => p.children
  }
}

/** An operator of Springbok that passes some or all rows of its child, unchanged and in the same order. */
trait RowFilter extends SparkPlan {
  def child: SparkPlan
}

/** The rows that a connector says a scan has. */
object ScanRows {
  def apply(scan: Scan): Option[Long] = scan match {
    case s: SupportsReportStatistics =>
      val rows = s.estimateStatistics.numRows
      if (rows.isPresent) Some(rows.getAsLong) else None
    case _ => None
  }
}

/** The optimized plan of a query that has been optimized. */
private[springbok] object OptimizedPlan {

  /** None if the query failed or was cancelled before: asking it would optimize it again, in this thread. */
  def of(qe: QueryExecution): Option[LogicalPlan] =
    if (qe.tracker.phases.contains(QueryPlanningTracker.OPTIMIZATION)) Try(qe.optimizedPlan).toOption
    else None
}

/** The execution of a query that this thread works for. */
private[sql] object CurrentExecution {

  /** Spark's number of it. */
  def id(sc: SparkContext): Option[Long] =
    Option(sc.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)).flatMap(id => Try(id.toLong).toOption)

  /** The query, as long as it runs. */
  def query(sc: SparkContext): Option[QueryExecution] =
    id(sc).flatMap(id => Option(SQLExecution.getQueryExecution(id)))
}

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

package org.apache.spark.sql.springbok.physical

import org.apache.spark.{Partition, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, BoundReference, Expression, Predicate}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.FilePartition
import org.apache.spark.sql.execution.metric.SQLMetric

/**
 * The rows of a scan of files that lie in folders by the columns of a late filter's key. A task that has the filter when it
 * begins opens no file of a folder that the filter refuses.
 *
 * '''Why the answer cannot change''': all rows of a file have the folder's values, so the row test would remove all of them.
 * Whether a partition is tested is decided once for all attempts of its task ([[LateFilter]]), and the keys are always the
 * same, so all attempts read the same files.
 *
 * @param test
 *   the row test, over the values of a folder
 * @param skipped
 *   counts the files that are left out
 */
final private[sql] class LateFilesRDD(
    rows: RDD[InternalRow],
    late: LateFilter,
    test: Expression,
    skipped: SQLMetric
) extends RDD[InternalRow](rows) {
  override protected def getPartitions: Array[Partition] = firstParent[InternalRow].partitions

  override protected def getPreferredLocations(split: Partition): Seq[String] =
    firstParent[InternalRow].preferredLocations(split)

  /** The operators on a scan hand the partition down to it. */
  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] = {
    val left = split match {
      case p: FilePartition if late.here() =>
        val holds = Predicate.create(test)
        holds.initialize(p.index)
        val files = p.files.filter(f => holds.eval(f.partitionValues))
        skipped += p.files.length.toLong - files.length
        p.copy(files = files)
      case other => other
    }
    firstParent[InternalRow].iterator(left, context)
  }
}

private[sql] object LateFilesRDD {

  /** A row test over the values of the folders that a scan's files lie in; None if it needs other columns. */
  def onFolders(test: Expression, plan: SparkPlan): Option[Expression] = plan.collectLeaves() match {
    case Seq(s: FileSourceScanExec) =>
      val folders = s.relation.partitionSchema.fieldNames
      val at = s.output.map(a => a.exprId -> folders.indexOf(a.name)).filter(_._2 >= 0).toMap
      Option.when(test.references.nonEmpty && test.references.forall(a => at.contains(a.exprId))) {
        test.transform { case a: Attribute => BoundReference(at(a.exprId), a.dataType, a.nullable) }
      }
    case _ => None
  }
}

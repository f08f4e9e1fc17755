package org.apache.spark.sql.springbok.physical

import org.apache.spark.{Partition, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  BoundReference,
  Expression,
  FileSourceConstantMetadataAttribute,
  Predicate
}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.springbok.stats.source.FolderColumns

/**
 * The rows of a scan of files that a late filter may leave out. A task that has the filter when it begins opens no file of a
 * folder that the filter refuses, and reads no row group that it refuses.
 *
 * '''Why the answer cannot change''': all rows of a file have the folder's values, so the row test would remove all of them.
 * For row groups see [[RowGroupTest]]. Whether a partition is tested, and whether its files are left out, is decided once for
 * all attempts of its task ([[LateFilter]]), and the keys are always the same, so all attempts read the same files.
 *
 * @param folders
 *   the row test, over the values of a folder, if it needs no other columns
 */
final private[sql] class LateFilesRDD private (
    rows: RDD[InternalRow],
    late: LateFilter,
    folders: Option[Expression],
    skipped: LateFilesRDD.Skipped
) extends RDD[InternalRow](rows) {
  override protected def getPartitions: Array[Partition] = firstParent[InternalRow].partitions

  override protected def getPreferredLocations(split: Partition): Seq[String] =
    firstParent[InternalRow].preferredLocations(split)

  /** The operators on a scan hand the partition down to it. */
  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] = {
    val left = split match {
      case p: FilePartition => late.begin().fold(p)(f => p.copy(files = groups(f, inFolders(p)).toArray))
      case other => other
    }
    firstParent[InternalRow].iterator(left, context)
  }

  private def inFolders(p: FilePartition): Seq[PartitionedFile] = folders.fold(p.files.toSeq) { test =>
    val holds = Predicate.create(test)
    holds.initialize(p.index)
    val (files, others) = p.files.toSeq.partition(f => holds.eval(f.partitionValues))
    // A file of several parts counts once.
    skipped.files += others.count(_.start == 0).toLong
    files
  }

  private def groups(filter: LateFilter.Arrived, files: Seq[PartitionedFile]): Seq[PartitionedFile] =
    filter.groups.fold(files) { test =>
      files.flatMap { f =>
        val parts = test.parts(f)
        skipped.groups += parts.skipped.toLong
        if (parts.files.isEmpty && f.length == f.fileSize) skipped.files += 1
        parts.files
      }
    }
}

private[sql] object LateFilesRDD {

  /** Counts what is left out: files, and row groups. */
  final case class Skipped(files: SQLMetric, groups: SQLMetric)

  /**
   * The rows that are left.
   *
   * @param test
   *   the row test
   * @param plan
   *   the scan with the operators on it that give the rows
   */
  def of(
      rows: RDD[InternalRow],
      late: LateFilter,
      test: Expression,
      plan: SparkPlan,
      skipped: Skipped
  ): RDD[InternalRow] = plan.collectLeaves() match {
    case Seq(s: FileSourceScanExec) =>
      val folders = onFolders(test, s)
      if (folders.isEmpty && !RowGroupTest.applies(s)) rows
      else new LateFilesRDD(rows, late, folders, skipped)
    case _ => rows
  }

  /** A row test over the values of the folders that a scan's files lie in; None if it needs other columns. */
  private def onFolders(test: Expression, s: FileSourceScanExec): Option[Expression] = {
    val folders = FolderColumns.of(s.relation)
    // A column of the partitions may be called as what `_metadata` tells of a file.
    val columns = s.output.filter {
      case FileSourceConstantMetadataAttribute(_) => false
      case _ => true
    }
    val at = columns.map(a => a.exprId -> folders.indexOf(a.name)).filter(_._2 >= 0).toMap
    Option.when(test.references.nonEmpty && test.references.forall(a => at.contains(a.exprId))) {
      test.transform { case a: Attribute => BoundReference(at(a.exprId), a.dataType, a.nullable) }
    }
  }
}

package org.apache.spark.sql.springbok.stats.source

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, PartitioningAwareFileIndex}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.springbok.catalyst.{FileTable, SparkPlanning}

/**
 * What a plan reads.
 *
 * @param bytes
 *   of the columns that it needs
 * @param stored
 *   bytes of all columns
 * @param files
 *   that they are in
 */
final private[springbok] case class Input(bytes: Double, stored: Double, files: Int = 0) {
  def +(o: Input): Input = Input(bytes + o.bytes, stored + o.stored, files + o.files)
}

private object Input {
  def of(bytes: Double): Input = Input(bytes, bytes)
}

/** What a plan reads, as far as listings, cached tables and local checkpoints tell it: no catalog, connector or file is asked. */
private[springbok] object InputSize {

  /** Summing up the files of more partitions takes time of its own. */
  private val maxPartitions = 100

  /** The sum over all leaves; None if one of them is unknown. */
  def of(plan: LogicalPlan): Option[Input] = {
    lazy val read = AttributeSet.fromAttributeSets(plan.outputSet +: plan.collect {
      // They read all that their inputs give.
      case p @ (_: Union | _: Command) => AttributeSet(p.children.flatMap(_.output))
      case p => p.references
    })
    plan.collectLeaves().iterator.map(leaf(_, read)).foldLeft(Option(Input.of(0))) { (sum, next) =>
      for (s <- sum; n <- next) yield s + n
    }
  }

  private def leaf(plan: LogicalPlan, read: => AttributeSet): Option[Input] = plan match {
    case FileTable(_, fs) =>
      fs.location match {
        case p: PartitioningAwareFileIndex if p.partitionSpec().partitions.size <= maxPartitions =>
          val files = p.allFiles()
          val bytes = files.iterator.map(_.getLen).sum.toDouble
          Some(Input(bytes * readPart(plan, fs, read), bytes, files.size))
        case _ => None
      }
    case m: InMemoryRelation =>
      if (m.cacheBuilder.isCachedColumnBuffersLoaded) Some(Input.of(m.computeStats().sizeInBytes.toDouble))
      else SparkPlanning.cachedPlan(m).flatMap(of)
    case l: LocalRelation => Some(Input.of(l.data.size.toDouble * rowBytes(l)))
    case r: LogicalRDD => stored(r.rdd).map(Input.of)
    case r: Range => Some(Input.of(r.numElements.toDouble * rowBytes(r)))
    case _: OneRowRelation => Some(Input.of(0))
    case _ => None
  }

  /** Bytes of a local checkpoint, once all of its partitions are stored. */
  private def stored(rdd: RDD[?]): Option[Double] =
    if (!rdd.getStorageLevel.isValid) None
    else
      rdd.sparkContext
        .getRDDStorageInfo((_: RDD[?]).id == rdd.id)
        .collectFirst {
          case i if i.numCachedPartitions == i.numPartitions => i.memSize.toDouble + i.diskSize
        }

  /** The part of its files that a scan reads, by the default sizes of the columns' types. */
  private def readPart(leaf: LogicalPlan, fs: HadoopFsRelation, read: => AttributeSet): Double =
    fs.fileFormat match {
      case _: ParquetFileFormat | _: OrcFileFormat =>
        val inFolders = fs.partitionSchema.names.toSet
        val columns = leaf.output.filterNot(a => inFolders(a.name))
        val (needed, others) = columns.partition(read.contains)
        // The rows of a scan without columns are counted by the smallest one.
        val counted = if (needed.isEmpty) others.sortBy(_.dataType.defaultSize).take(1) else needed
        bytes(counted) / math.max(1.0, bytes(columns))
      case _ => 1.0
    }

  private def rowBytes(leaf: LogicalPlan): Double = bytes(leaf.output)

  private def bytes(columns: Seq[Attribute]): Double = columns.map(_.dataType.defaultSize.toDouble).sum
}

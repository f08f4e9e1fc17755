package org.apache.spark.sql.springbok.stats.source

import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, OneRowRelation, Range}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex
import org.apache.spark.sql.springbok.catalyst.{FileTable, SparkPlanning}

/** The bytes that a plan reads, as far as listings and cached tables tell them: no catalog, connector or file is asked. */
private[springbok] object InputBytes {

  /** Summing up the files of more partitions takes time of its own. */
  private val maxPartitions = 100

  /** Bytes of all leaves; None if those of one are unknown. */
  def of(plan: LogicalPlan): Option[Double] = {
    val each = plan.collectLeaves().iterator.map(leaf)
    each.foldLeft(Option(0.0))((sum, b) => for (s <- sum; n <- b) yield s + n)
  }

  private def leaf(plan: LogicalPlan): Option[Double] = plan match {
    case FileTable(_, fs) =>
      fs.location match {
        case p: PartitioningAwareFileIndex if p.partitionSpec().partitions.size <= maxPartitions =>
          Some(p.sizeInBytes.toDouble)
        case _ => None
      }
    case m: InMemoryRelation =>
      if (m.cacheBuilder.isCachedColumnBuffersLoaded) Some(m.computeStats().sizeInBytes.toDouble)
      else SparkPlanning.cachedPlan(m).flatMap(of)
    case l: LocalRelation => Some(l.data.size.toDouble * rowBytes(l))
    case r: Range => Some(r.numElements.toDouble * rowBytes(r))
    case _: OneRowRelation => Some(0.0)
    case _ => None
  }

  private def rowBytes(leaf: LogicalPlan): Double = leaf.output.map(_.dataType.defaultSize).sum.toDouble
}

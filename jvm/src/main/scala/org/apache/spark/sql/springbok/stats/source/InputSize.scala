package org.apache.spark.sql.springbok.stats.source

import java.util.IdentityHashMap

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.plans.{FullOuter, InnerLike, LeftSemi, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical.{
  Aggregate,
  Join,
  LocalRelation,
  LogicalPlan,
  OneRowRelation,
  Range,
  UnaryNode,
  Union
}
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex
import org.apache.spark.sql.springbok.catalyst.{FileTable, SparkPlanning}

/** What a plan reads: bytes, and the number of files that they are in. */
final private[springbok] case class Input(bytes: Double, files: Int)

/** What a plan reads, as far as listings, cached tables and local checkpoints tell it: no catalog, connector or file is asked. */
private[springbok] object InputSize {

  /** Summing up the files of more partitions takes time of its own. */
  private val maxPartitions = 100

  /**
   * The sum over all leaves; None if one of them is unknown. Of a plan that returns nothing because a table has no file, nothing
   * is counted: adaptive execution ends it as soon as the first side of a join is found to be empty.
   */
  def of(plan: LogicalPlan): Option[Input] =
    if (readsNothing(plan)) Some(Input(0, 0)) else held(plan)

  /** The sum over all leaves, also of a plan that returns nothing: what a task reads that has to read all of it. */
  def held(plan: LogicalPlan): Option[Input] = sum(plan, new IdentityHashMap)

  /** An aggregate without groups returns a row of no rows, which is little work as well. */
  private def readsNothing(plan: LogicalPlan): Boolean = plan match {
    case u: UnaryNode => readsNothing(u.child)
    case other => returnsNothing(other)
  }

  private def returnsNothing(plan: LogicalPlan): Boolean = plan match {
    case FileTable(_, fs) =>
      fs.location match {
        case p: PartitioningAwareFileIndex => p.allFiles().isEmpty
        case _ => false
      }
    case Join(left, right, kind, _, _) =>
      val (l, r) = (returnsNothing(left), returnsNothing(right))
      kind match {
        case _: InnerLike | LeftSemi => l || r
        case RightOuter => r
        case FullOuter => l && r
        case _ => l
      }
    case u: Union => u.children.forall(returnsNothing)
    case a: Aggregate if a.groupingExpressions.isEmpty => false
    case _: UnaryNode => plan.children.forall(returnsNothing)
    case _ => false
  }

  /** @param caches what the plans read that will fill caches: each cache may read another one several times */
  private def sum(plan: LogicalPlan, caches: Caches): Option[Input] =
    plan.collectLeaves().iterator.map(leaf(_, caches)).foldLeft(Option(Input(0, 0))) { (sum, next) =>
      for (s <- sum; n <- next) yield Input(s.bytes + n.bytes, s.files + n.files)
    }

  private type Caches = IdentityHashMap[LogicalPlan, Option[Input]]

  private def leaf(plan: LogicalPlan, caches: Caches): Option[Input] = plan match {
    case FileTable(_, fs) =>
      fs.location match {
        case p: PartitioningAwareFileIndex if p.partitionSpec().partitions.size <= maxPartitions =>
          val files = p.allFiles()
          Some(Input(files.iterator.map(_.getLen).sum.toDouble, files.size))
        case _ => None
      }
    case m: InMemoryRelation =>
      if (m.cacheBuilder.isCachedColumnBuffersLoaded) Some(Input(m.computeStats().sizeInBytes.toDouble, 0))
      else SparkPlanning.cachedPlan(m).flatMap(filling(_, caches))
    case l: LocalRelation => Some(Input(l.data.size.toDouble * rowBytes(l), 0))
    case r: LogicalRDD => stored(r.rdd).map(Input(_, 0))
    case r: Range => Some(Input(r.numElements.toDouble * rowBytes(r), 0))
    case _: OneRowRelation => Some(Input(0, 0))
    case _ => None
  }

  private def filling(plan: LogicalPlan, caches: Caches): Option[Input] = {
    if (!caches.containsKey(plan)) caches.put(plan, sum(plan, caches)): Unit
    caches.get(plan)
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

  private def rowBytes(leaf: LogicalPlan): Double = leaf.output.map(_.dataType.defaultSize).sum.toDouble
}

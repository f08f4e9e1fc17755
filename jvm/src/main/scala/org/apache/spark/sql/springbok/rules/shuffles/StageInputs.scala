package org.apache.spark.sql.springbok.rules.shuffles

import scala.collection.mutable

import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, SinglePartition, UnknownPartitioning}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.springbok.RuntimeFilterExec
import org.apache.spark.sql.springbok.catalyst.SharedExchanges
import org.apache.spark.sql.springbok.physical.SeparateStage
import org.apache.spark.sql.types.DataType

/**
 * Exchanges that must have the same number of partitions.
 *
 * @param pending
 *   those whose number may change
 * @param fixed
 *   the numbers of the others
 */
final private[springbok] case class AgreeingExchanges(pending: Seq[ShuffleExchangeExec], fixed: Seq[Int])

/**
 * The shuffles that feed each stage of a plan, in groups that must have the same number of partitions: the inputs of one
 * stage, such as those of a join, and equal exchanges, which Spark runs once. Exchanges are compared by their leaves and the
 * types of their columns. That is cheap, and it does no harm that some of them only look equal.
 */
private[springbok] object StageInputs {

  /** What an exchange that Spark may reuse has in common with the other one. */
  final private case class Likeness(leaves: Seq[Any], types: Seq[DataType])

  /** A stage of the plan, told from others by its identity. */
  final private class Stage

  /** An input of a stage, without one if it belongs to a subquery, which has been planned. */
  final private case class Input(
      stage: Option[Stage],
      likeness: Option[Likeness],
      pending: Option[ShuffleExchangeExec],
      fixed: Option[Int]
  ) {

    /** All inputs that have one of them must agree. */
    def ties: Seq[Any] = stage.toSeq ++ likeness
  }

  /**
   * @param mayChange
   *   whether a pending exchange's number of partitions may change
   */
  def groups(plan: SparkPlan, mayChange: SparkPlan => Boolean): Seq[AgreeingExchanges] = {
    val inputs = ofStage(plan, mayChange) ++ SharedExchanges.subqueries(plan).flatMap(ofPlanned)
    val tied = new UnionFind[Any]
    inputs.foreach(i => i.ties.foreach(tied.union(i.ties.head, _)))
    val found = mutable.LinkedHashMap.empty[Any, Seq[Input]]
    for (i <- inputs; root = tied.find(i.ties.head)) found(root) = found.getOrElse(root, Nil) :+ i
    found.values.map(is => AgreeingExchanges(is.flatMap(_.pending), is.flatMap(_.fixed).distinct)).toSeq
  }

  private def ofStage(root: SparkPlan, mayChange: SparkPlan => Boolean): Seq[Input] = {
    val stage = new Stage
    def read(p: SparkPlan): Seq[Input] = p match {
      case q: ShuffleQueryStageExec =>
        shuffle(q.plan, q.shuffle.outputPartitioning, None, Some(stage))
      case e: ShuffleExchangeExec =>
        // Separated groups have as many partitions as the other side of their join. With another number, that side would be
        // shuffled again once one of them has run.
        val below =
          if (SeparateStage.joinOf(e).isDefined) read(e.child) else ofStage(e.child, mayChange)
        shuffle(e, e.outputPartitioning, Some(e).filter(mayChange), Some(stage)) ++ below
      case e: Exchange => e.children.flatMap(ofStage(_, mayChange))
      // Its second child also stands elsewhere.
      case f: RuntimeFilterExec => read(f.child)
      case leaf if leaf.children.isEmpty => ofLeaf(leaf, stage)
      case _ => p.children.flatMap(read)
    }
    read(root)
  }

  private def ofLeaf(leaf: SparkPlan, stage: Stage): Seq[Input] = leaf.outputPartitioning match {
    case SinglePartition | _: UnknownPartitioning => Nil
    case _ if leaf.isInstanceOf[BroadcastQueryStageExec] => Nil
    case known => Seq(Input(Some(stage), None, None, Some(known.numPartitions)))
  }

  private def ofPlanned(p: SparkPlan): Seq[Input] = {
    val own = p.flatMap {
      case e: ShuffleExchangeExec => shuffle(e, e.outputPartitioning, None, None)
      case q: ShuffleQueryStageExec => ofPlanned(q.plan)
      case q: BroadcastQueryStageExec => ofPlanned(q.plan)
      case _ => Nil
    }
    own ++ SharedExchanges.subqueries(p).flatMap(ofPlanned)
  }

  private def shuffle(
      e: SparkPlan,
      partitioning: Partitioning,
      pending: Option[ShuffleExchangeExec],
      stage: Option[Stage]
  ): Seq[Input] =
    if (partitioning == SinglePartition) Nil
    else {
      val fixed = Option.when(pending.isEmpty)(partitioning.numPartitions)
      Seq(Input(stage, Some(Likeness(leaves(e), e.output.map(_.dataType))), pending, fixed))
    }

  private def leaves(p: SparkPlan): Seq[Any] = p.collectLeaves().flatMap {
    case q: QueryStageExec => leaves(q.plan)
    case r: ReusedExchangeExec => leaves(r.child)
    case leaf => Seq(SharedExchanges.leaf(leaf))
  }

  /** Disjoint sets. A value that was never seen is a set of its own. */
  final private class UnionFind[T] {
    private val parents = mutable.HashMap.empty[T, T]

    def find(value: T): T = parents.get(value).fold(value) { parent =>
      val root = find(parent)
      parents(value) = root
      root
    }

    def union(a: T, b: T): Unit = {
      val (from, to) = (find(a), find(b))
      if (from != to) parents(from) = to
    }
  }
}

package org.apache.spark.sql.springbok.rules.shuffles

import scala.collection.mutable

import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, SinglePartition, UnknownPartitioning}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.springbok.RuntimeFilterExec
import org.apache.spark.sql.springbok.catalyst.SharedExchanges
import org.apache.spark.sql.springbok.rules.runtimefilters.place.SeparateGroups
import org.apache.spark.sql.types.DataType

/**
 * Exchanges whose number of partitions has to be the same.
 *
 * @param pending
 *   those that may change
 * @param fixed
 *   the numbers of the others
 */
final private[springbok] case class AgreeingExchanges(pending: Seq[ShuffleExchangeExec], fixed: Seq[Int])

/**
 * The shuffles that feed each stage of a plan. What has to agree: the inputs of a stage, as a join's are; and exchanges that
 * are the same, of which Spark runs one. These are told by their leaves and the types of their columns: that is cheap, and
 * takes too many for the same, which does no harm.
 */
private[springbok] object StageInputs {
  private type Alike = (Seq[Any], Seq[DataType])

  /** An input of the stage with that number; None for one of a subquery, which has been planned. */
  final private case class Input(
      stage: Option[Int],
      alike: Option[Alike],
      pending: Option[ShuffleExchangeExec],
      fixed: Option[Int]
  )

  /**
   * @param mayChange
   *   whether a pending exchange's number of partitions may change
   */
  def groups(plan: SparkPlan, mayChange: SparkPlan => Boolean): Seq[AgreeingExchanges] = {
    val inputs = mutable.ArrayBuffer.empty[Input]
    var stages = 0

    def shuffle(
        e: SparkPlan,
        n: Partitioning,
        pending: Option[ShuffleExchangeExec],
        stage: Option[Int]
    ): Unit =
      if (n != SinglePartition)
        inputs += Input(stage, Some(alike(e)), pending, Option.when(pending.isEmpty)(n.numPartitions))

    def stage(root: SparkPlan): Unit = {
      stages += 1
      val id = Some(stages)
      def go(p: SparkPlan): Unit = p match {
        case q: ShuffleQueryStageExec => shuffle(q.plan, q.shuffle.outputPartitioning, None, id)
        case e: ShuffleExchangeExec =>
          shuffle(e, e.outputPartitioning, Some(e).filter(mayChange), id)
          // Groups that were given a stage of their own lie as their join's other side: were their numbers to differ, that
          // side would be shuffled anew once one of them is known.
          if (SeparateGroups.isApart(e)) go(e.child) else stage(e.child)
        case e: Exchange => e.children.foreach(stage)
        // Its second child stands elsewhere as well.
        case f: RuntimeFilterExec => go(f.child)
        case leaf if leaf.children.isEmpty =>
          leaf.outputPartitioning match {
            case SinglePartition | _: UnknownPartitioning => ()
            case known if !leaf.isInstanceOf[BroadcastQueryStageExec] =>
              inputs += Input(id, None, None, Some(known.numPartitions))
            case _ => ()
          }
        case _ => p.children.foreach(go)
      }
      go(root)
    }

    def planned(p: SparkPlan): Unit = {
      p.foreach {
        case e: ShuffleExchangeExec => shuffle(e, e.outputPartitioning, None, None)
        case q: ShuffleQueryStageExec => planned(q.plan)
        case q: BroadcastQueryStageExec => planned(q.plan)
        case _ => ()
      }
      SharedExchanges.subqueries(p).foreach(planned)
    }

    stage(plan)
    SharedExchanges.subqueries(plan).foreach(planned)
    merged(inputs.toSeq)
  }

  /** The inputs that are tied to each other, by a stage or by being alike, directly or through others. */
  private def merged(inputs: Seq[Input]): Seq[AgreeingExchanges] = {
    val ties = inputs.map(i => i.stage.toSet[Any] ++ i.alike.toSet[Any])
    val sets = ties.foldLeft(Seq.empty[Set[Any]]) { (sets, tie) =>
      val (same, others) = sets.partition(_.exists(tie))
      others :+ same.foldLeft(tie)(_ ++ _)
    }
    sets.map { set =>
      val own = inputs.zip(ties).collect { case (i, tie) if tie.exists(set) => i }
      AgreeingExchanges(own.flatMap(_.pending), own.flatMap(_.fixed).distinct)
    }
  }

  private def alike(e: SparkPlan): Alike = (leaves(e), e.output.map(_.dataType))

  private def leaves(p: SparkPlan): Seq[Any] = p.collectLeaves().flatMap {
    case q: QueryStageExec => leaves(q.plan)
    case r: ReusedExchangeExec => leaves(r.child)
    case leaf => Seq(SharedExchanges.leaf(leaf))
  }
}

package org.apache.spark.sql.springbok.cost

import org.apache.spark.sql.catalyst.optimizer.BuildSide
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.springbok.reason.Reason

/** What executes a join. */
sealed abstract class Strategy(val name: String)
object Strategy {
  final case class Broadcast(build: BuildSide) extends Strategy("broadcast hash")
  final case class ShuffledHash(build: BuildSide) extends Strategy("shuffled hash")
  case object SortMerge extends Strategy("sort-merge")

  /** Every pair of rows, one side held by every task. */
  final case class NestedLoop(build: BuildSide) extends Strategy("broadcast nested loop")

  /** Every pair of rows, every partition of one side with every partition of the other. */
  case object Cartesian extends Strategy("cartesian")

  /** Left as Spark plans it. */
  case object Spark extends Strategy("as Spark plans it")

  /** What a physical join is. */
  def of(j: BaseJoinExec): Strategy = j match {
    case b: BroadcastHashJoinExec => Broadcast(b.buildSide)
    case h: ShuffledHashJoinExec => ShuffledHash(h.buildSide)
    case _: SortMergeJoinExec => SortMerge
    case n: BroadcastNestedLoopJoinExec => NestedLoop(n.buildSide)
    case _: CartesianProductExec => Cartesian
    // An as-of join of Spark 4.3.
    case _ => Spark
  }

  def build(s: Strategy): Option[BuildSide] = s match {
    case Broadcast(b) => Some(b)
    case ShuffledHash(b) => Some(b)
    case NestedLoop(b) => Some(b)
    case _ => None
  }

  /** With the side that it builds: `broadcast hash, build left`. */
  def label(s: Strategy): String = s.name + build(s).fold("")(b => s", build ${Reason.side(b)}")
}

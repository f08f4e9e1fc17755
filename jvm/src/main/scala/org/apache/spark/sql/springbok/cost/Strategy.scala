package org.apache.spark.sql.springbok.cost

import org.apache.spark.sql.catalyst.optimizer.BuildSide
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.springbok.catalyst.Sides
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

/** How the rows of a join's sides meet, in Doris's names and order of preference. */
sealed abstract class Distribution(val name: String)
object Distribution {

  /** Neither side is sent. */
  case object Colocate extends Distribution("colocate")

  /** One side is sent to where the other's rows are. */
  case object BucketShuffle extends Distribution("bucket shuffle")
  case object Broadcast extends Distribution("broadcast")
  case object Partitioned extends Distribution("partitioned")

  /** The distribution of a join of this strategy; None where Spark decides. */
  def of(s: Strategy, sides: Sides[Side]): Option[Distribution] = s match {
    case _: Strategy.Broadcast | _: Strategy.NestedLoop => Some(Broadcast)
    case Strategy.Cartesian => Some(Partitioned)
    case Strategy.Spark => None
    case _ =>
      Some(sides.toSeq.map(_.layout).count(l => l.partitioned && !l.sent) match {
        case 2 => Colocate
        case 1 => BucketShuffle
        case _ => Partitioned
      })
  }
}

/**
 * One way to execute a join.
 *
 * @param terms
 *   the parts of its cost by name, in bytes
 */
final case class Alternative(strategy: Strategy, terms: JoinCost.Terms, ruledOut: Option[RuledOut]) {

  /** The whole cost in bytes, [[JoinCost.Unknown]] if a part is unknown. */
  val cost: Double = JoinCost.sum(terms)
}

/** Why a strategy is not taken. */
sealed trait RuledOut {
  def reason: Reason
}

object RuledOut {

  /** It cannot compute the join, or never well, or the query forbids it. */
  final case class Impossible(reason: Reason) extends RuledOut

  /** It could compute the join and should not: the build side may not fit, or another side is the better one to build. */
  final case class Unwise(reason: Reason) extends RuledOut
}

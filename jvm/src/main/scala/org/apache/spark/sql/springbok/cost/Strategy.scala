package org.apache.spark.sql.springbok.cost

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
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

  def build(s: Strategy): Option[BuildSide] = s match {
    case Broadcast(b) => Some(b)
    case ShuffledHash(b) => Some(b)
    case NestedLoop(b) => Some(b)
    case _ => None
  }

  /** With the side that it builds: `broadcast hash, build left`. */
  def label(s: Strategy): String = label(s.name, build(s))

  def label(name: String, build: Option[BuildSide]): String =
    name + build.fold("")(b => s", build ${Reason.side(b)}")

  def other(side: BuildSide): BuildSide = if (side == BuildLeft) BuildRight else BuildLeft
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

  /** Of a join of this strategy; None where Spark decides. */
  def of(s: Strategy, left: JoinCost.Side, right: JoinCost.Side): Option[Distribution] = s match {
    case _: Strategy.Broadcast | _: Strategy.NestedLoop => Some(Broadcast)
    case Strategy.Cartesian => Some(Partitioned)
    case Strategy.Spark => None
    case _ =>
      Some(Seq(left, right).count(s => s.partitioned && !s.sent) match {
        case 2 => Colocate
        case 1 => BucketShuffle
        case _ => Partitioned
      })
  }
}

/** One way to execute a join, with its cost in bytes or why it is ruled out. */
final case class Alternative(strategy: Strategy, terms: JoinCost.Terms, ruledOut: Option[Reason]) {
  val cost: Double = JoinCost.sum(terms)
}

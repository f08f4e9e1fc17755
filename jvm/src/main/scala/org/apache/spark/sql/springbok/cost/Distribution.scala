package org.apache.spark.sql.springbok.cost

import org.apache.spark.sql.springbok.catalyst.Sides

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

package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.optimizer.JoinSelectionHelper
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical.{BROADCAST, Join}
import org.apache.spark.sql.springbok.cost.{Distribution, Strategy}
import org.apache.spark.sql.springbok.record.{JoinDecision, JoinState}

/** Bytes in memory of the rows that broadcasts hold. Those of all queries that run share the driver's heap. */
final private[joins] class BroadcastBudget(planning: JoinPlanning) extends JoinSelectionHelper {

  /** Bytes of the relations that Spark would make anyway for the joins that are still to be decided. */
  private var undecided = planning.plan.collect {
    case j: Join if JoinState.isMissing(j) => bySpark(j)
  }.sum

  /** Takes a join off the undecided ones. */
  def startDeciding(j: Join): Unit = undecided -= bySpark(j)

  /** Bytes that the query's other joins hold. */
  def heldByOthers(state: JoinState): Double = state.query.heldBeside(state) + undecided

  /** Bytes that the join holds as decided. A broadcast that several joins share is counted in parts. */
  def held(j: Join, state: JoinState, d: JoinDecision): Double = d.input match {
    case Some(in) if d.choice.distribution.contains(Distribution.Broadcast) =>
      val build = in.sides(Strategy.build(d.choice.chosen).get)
      val table = build.size.boundTable
      // A nested loop's rows are not put into a hash table and take no page.
      (if (in.capabilities.equi) relation(table) else table.getOrElse(0.0)) / build.broadcast.sharedBy
    case _ if d.choice.chosen == Strategy.Spark => hinted(j, state).getOrElse(bySpark(j))
    case _ => 0
  }

  /** A side that a hint broadcasts is counted as expected: its bound may be beyond all memory. */
  private def hinted(j: Join, state: JoinState): Option[Double] =
    Seq(j.left -> state.userHint.leftHint, j.right -> state.userHint.rightHint).collect {
      case (p, Some(h)) if h.strategy.contains(BROADCAST) => relation(planning.stats(p).bytes)
    }.minOption

  private def relation(rowBytes: Option[Double]): Double =
    math.max(rowBytes.getOrElse(0.0), planning.cluster.leastRelation)

  /** Bytes of the relation that Spark itself would make for a join, 0 for none. */
  private def bySpark(j: Join): Double = j match {
    case ExtractEquiJoinKeys(_, lk, rk, _, _, _, _, _) =>
      val buildable = Seq(
        (j.left, lk, canBuildBroadcastLeft(j.joinType)),
        (j.right, rk, canBuildBroadcastRight(j.joinType))
      )
      buildable
        .collect { case (p, keys, true) if planning.smallForSpark(p) => planning.sharing(p, keys) }
        .maxOption
        .fold(0.0)(planning.cluster.leastRelation / _)
    case _ => 0
  }
}

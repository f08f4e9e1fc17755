package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.RelationHint

/**
 * The hints that a query gave for a join.
 *
 * @param followed
 *   the one that Spark's planner follows, if any can be followed
 * @param notes
 *   those that it does not follow, and why
 * @param shuffles
 *   whether the join is one without a broadcast, whose strategy the costs decide
 */
final private[springbok] case class UserHints(
    followed: Option[String],
    notes: Seq[Reason],
    shuffles: Boolean = false
)

/** Reads a join's hints as Spark's `JoinSelection` does. */
private[springbok] object UserHints {

  /**
   * What a join can be executed as.
   *
   * @param left,
   *   right the strategies that may build that side
   */
  final case class Possible(equi: Boolean, left: Set[JoinStrategyHint], right: Set[JoinStrategyHint])

  val none: UserHints = UserHints(None, Nil)

  /** The order in which Spark tries hints. */
  private val order = Seq(BROADCAST, SHUFFLE_MERGE, SHUFFLE_HASH, SHUFFLE_REPLICATE_NL)

  def of(hint: JoinHint, possible: Possible): UserHints = {
    val hints =
      Seq((hint.leftHint, "left", possible.left), (hint.rightHint, "right", possible.right)).flatMap {
        case (info, side, allowed) => info.flatMap(_.strategy).map(s => (s, side, allowed.contains(s)))
      }
    // A hint that is not a query's: Spark's own rules use such, and know what to do with them.
    hints.map(_._1).find(!order.contains(_)) match {
      case Some(internal) => UserHints(Some(internal.displayName), Nil)
      case None =>
        val followed = hints.filter(_._3).map(_._1).minByOption(s => order.indexOf(s))
        val notes = hints.flatMap {
          case (s, side, false) =>
            Some(Reason.hintNotApplicable(s"${s.displayName} ($side)", why(s, side, possible)))
          case (s, side, true) if !followed.contains(s) =>
            followed.map(f => Reason.hintConflict(f.displayName, s"${s.displayName} ($side)"))
          case _ => None
        }
        val shuffled = Seq((hint.leftHint, "left"), (hint.rightHint, "right")).collect {
          case (info, side) if RelationHint.shuffles(info) => s"SHUFFLE ($side)"
        }
        val ignored = notShuffled(followed, possible).toSeq.flatMap(shuffled.map(_))
        val shuffles = shuffled.nonEmpty && followed.isEmpty && ignored.isEmpty
        UserHints(followed.map(_.displayName), notes ++ ignored, shuffles)
    }
  }

  /** Why a hint that asks for a shuffle is not followed. */
  private def notShuffled(
      followed: Option[JoinStrategyHint],
      possible: Possible
  ): Option[String => Reason] = followed match {
    case _ if !possible.equi => Some(Reason.hintNotApplicable(_, notEqui))
    case Some(s @ (BROADCAST | SHUFFLE_REPLICATE_NL)) => Some(Reason.hintConflict(s.displayName, _))
    case _ => None
  }

  private val notEqui = "the join has no equality between its sides"

  /** The hint without what cannot be followed. */
  def possible(hint: JoinHint, possible: Possible): JoinHint = {
    def kept(info: Option[HintInfo], allowed: Set[JoinStrategyHint]) =
      info.filter(_.strategy.forall(s => allowed(s) || !order.contains(s)))
    JoinHint(kept(hint.leftHint, possible.left), kept(hint.rightHint, possible.right))
  }

  private def why(s: JoinStrategyHint, side: String, possible: Possible): String = s match {
    case SHUFFLE_MERGE | SHUFFLE_HASH if !possible.equi => notEqui
    case SHUFFLE_MERGE => "the keys cannot be sorted, or the join's type cannot be merged"
    case SHUFFLE_REPLICATE_NL => "only an inner join is a part of the cartesian product"
    case _ => s"this type of join, or of keys, cannot build the $side side"
  }
}

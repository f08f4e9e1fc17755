package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.springbok.reason.Reason

/**
 * The hints that a query gave for a join.
 *
 * @param followed
 *   the one that Spark's planner follows, if any can be followed
 * @param notes
 *   those that it does not follow, and why
 */
final private[springbok] case class UserHints(followed: Option[String], notes: Seq[Reason])

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
        UserHints(followed.map(_.displayName), notes)
    }
  }

  /** The hint without what cannot be followed. */
  def possible(hint: JoinHint, possible: Possible): JoinHint = {
    def kept(info: Option[HintInfo], allowed: Set[JoinStrategyHint]) =
      info.filter(_.strategy.forall(s => allowed(s) || !order.contains(s)))
    JoinHint(kept(hint.leftHint, possible.left), kept(hint.rightHint, possible.right))
  }

  private def why(s: JoinStrategyHint, side: String, possible: Possible): String = s match {
    case SHUFFLE_MERGE | SHUFFLE_HASH if !possible.equi => "the join has no equality between its sides"
    case SHUFFLE_MERGE => "the keys cannot be sorted, or the join's type cannot be merged"
    case SHUFFLE_REPLICATE_NL => "only an inner join is a part of the cartesian product"
    case _ => s"this type of join, or of keys, cannot build the $side side"
  }
}

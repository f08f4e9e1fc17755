package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.expressions.{AttributeSet, Expression, RowOrdering}
import org.apache.spark.sql.catalyst.optimizer.JoinSelectionHelper
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.springbok.catalyst.{JoinSide, Sides, SparkTypes}
import org.apache.spark.sql.springbok.cost.Capabilities
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
            Some(Reason.hintIgnored(s"${s.displayName} ($side)", why(s, side, possible)))
          case (s, side, true) if !followed.contains(s) =>
            followed.map(f => Reason.hintIgnored(s"${s.displayName} ($side)", s"${f.displayName} is"))
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
    case _ if !possible.equi => Some(Reason.hintIgnored(_, notEqui))
    case Some(s @ (BROADCAST | SHUFFLE_REPLICATE_NL)) => Some(Reason.hintIgnored(_, s"${s.displayName} is"))
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

/** The strategies that the type and the keys of a join allow. */
private[joins] object PossibleStrategies extends JoinSelectionHelper {

  /** Those of a join by equality of these keys that give right answers with every release of a Spark line. */
  def capabilities(j: Join, keys: Sides[Seq[Expression]]): Capabilities = {
    val can = capabilities(j.joinType, keys)
    if (keepsOneOfKey(j, keys)) can.copy(hash = can.hash.updated(JoinSide.Right, false)) else can
  }

  /**
   * Whether a shuffled hash join may keep one row of each key although rows of one key differ in what its condition reads: a
   * column of a key that is computed, as `substring(k, 1, 4)`, in releases without SPARK-52873 (3.5 before 3.5.7, and 4.0.0).
   */
  private def keepsOneOfKey(j: Join, keys: Sides[Seq[Expression]]): Boolean = j match {
    case ExtractEquiJoinKeys(LeftExistence(_), _, _, Some(condition), _, _, _, _) =>
      val read = condition.references.filter(j.right.outputSet.contains)
      read.subsetOf(AttributeSet(keys.right)) && !read.forall(a => keys.right.exists(_.semanticEquals(a)))
    case _ => false
  }

  /** Those that Spark offers for a join by equality of these keys. */
  private def capabilities(joinType: JoinType, keys: Sides[Seq[Expression]]): Capabilities = {
    // Keys that are equal without equal bytes, such as collated strings, cannot be hashed.
    val hashable = keys.toSeq.flatten.forall(k => SparkTypes.isBinaryStable(k.dataType))
    Capabilities(
      equi = true,
      broadcast = Sides(canBuildBroadcastLeft(joinType), canBuildBroadcastRight(joinType)).map(hashable && _),
      hash = Sides(canBuildShuffledHashJoinLeft(joinType), canBuildShuffledHashJoinRight(joinType))
        .map(hashable && _),
      preserved = Sides(
        joinType == LeftOuter || joinType == FullOuter,
        joinType == RightOuter || joinType == FullOuter
      ),
      mergeable =
        !SparkTypes.isSingleJoin(joinType) && keys.left.forall(k => RowOrdering.isOrderable(k.dataType)),
      cartesian = joinType.isInstanceOf[InnerLike]
    )
  }

  /** The hints that can be followed, by the side that they name. */
  def hints(j: Join): UserHints.Possible = {
    def when(s: JoinStrategyHint, allowed: Boolean): Set[JoinStrategyHint] =
      if (allowed) Set(s) else Set.empty
    val cartesian = when(SHUFFLE_REPLICATE_NL, j.joinType.isInstanceOf[InnerLike])
    j match {
      case ExtractEquiJoinKeys(t, leftKeys, rightKeys, _, _, _, _, _) =>
        val can = capabilities(t, Sides(leftKeys, rightKeys))
        val sides = can.broadcast.zip(can.hash).map { case (broadcast, hash) =>
          cartesian ++ when(SHUFFLE_MERGE, can.mergeable) ++ when(BROADCAST, broadcast) ++
            when(SHUFFLE_HASH, hash)
        }
        UserHints.Possible(equi = true, sides.left, sides.right)
      case _ => UserHints.Possible(equi = false, cartesian + BROADCAST, cartesian + BROADCAST)
    }
  }
}

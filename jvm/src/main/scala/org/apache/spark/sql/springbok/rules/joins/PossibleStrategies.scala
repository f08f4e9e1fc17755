package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.expressions.{AttributeSet, Expression, RowOrdering}
import org.apache.spark.sql.catalyst.optimizer.JoinSelectionHelper
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.springbok.catalyst.{JoinSide, Sides, SparkTypes}
import org.apache.spark.sql.springbok.cost.Capabilities

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

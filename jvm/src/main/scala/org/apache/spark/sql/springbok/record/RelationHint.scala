package org.apache.spark.sql.springbok.record

import org.apache.spark.sql.catalyst.plans.logical.{HintErrorHandler, HintInfo, JoinStrategyHint}
import org.apache.spark.sql.execution.joins.BaseJoinExec

/**
 * What a query asks about a relation beyond Spark's own hints. Spark carries it to the nearest join above.
 *
 * @param creates
 *   whether filters are made from the relation's keys whatever they cost
 * @param target
 *   Some(true): filters are applied to the relation whatever they cost; Some(false): none is applied to it
 * @param shuffles
 *   whether the relation is joined without a broadcast, by the cheapest strategy that is left
 * @param straight
 *   whether the relation is joined where the query joins it
 * @param place
 *   its place among the relations that are joined first
 */
final class RelationHint(
    val creates: Boolean,
    val target: Option[Boolean],
    val shuffles: Boolean = false,
    val straight: Boolean = false,
    val place: Option[Int] = None,
    strategy: Option[JoinStrategyHint] = None
) extends HintInfo(strategy) {

  override def merge(other: HintInfo, handler: HintErrorHandler): HintInfo = {
    val merged = super.merge(other, handler).strategy
    other match {
      case f: RelationHint =>
        if (target.exists(t => f.target.contains(!t))) handler.hintOverridden(f)
        new RelationHint(
          creates || f.creates,
          target.orElse(f.target),
          shuffles || f.shuffles,
          straight || f.straight,
          place.orElse(f.place),
          merged
        )
      case _ => new RelationHint(creates, target, shuffles, straight, place, merged)
    }
  }

  // Spark keeps a node of a plan if its replacement is equal to it.
  override def canEqual(other: Any): Boolean = other.isInstanceOf[RelationHint]
  override def equals(other: Any): Boolean = other match {
    case f: RelationHint => wishes == f.wishes
    case _ => false
  }
  override def hashCode: Int = wishes.hashCode
  private def wishes = (creates, target, shuffles, straight, place, strategy)

  override def toString: String = {
    val names = Option.when(creates)("runtime_filter") ++
      target.map(if (_) "runtime_filter_target" else "no_runtime_filter_target") ++
      Option.when(shuffles)("shuffle") ++ Option.when(straight)("straight_join") ++ place.map(_ => "leading")
    names.mkString("(", ", ", ")")
  }
}

object RelationHint {

  /** Makes filters from the relation's keys, as Spark's own hint of this name. */
  val RUNTIME_FILTER = new RelationHint(creates = true, target = None)

  /** Applies filters to the relation. */
  val RUNTIME_FILTER_TARGET = new RelationHint(creates = false, target = Some(true))

  /** Applies no filter to the relation. */
  val NO_RUNTIME_FILTER_TARGET = new RelationHint(creates = false, target = Some(false))

  /** Joins the relation without a broadcast, as Impala's hint of this name. */
  val SHUFFLE = new RelationHint(creates = false, target = None, shuffles = true)

  /** Joins the relation where the query joins it, as Impala's hint of this name does for a whole FROM. */
  val STRAIGHT_JOIN = new RelationHint(creates = false, target = None, straight = true)

  /** Joins the relation before those that the hint does not name, at this place. */
  def leading(place: Int): RelationHint =
    new RelationHint(creates = false, target = None, place = Some(place))

  /** The place of a relation of which the query asks nothing else. */
  def onlyPlace(relation: HintInfo): Option[Int] = relation match {
    case h: RelationHint if h.place.exists(leading(_) == h) => h.place
    case _ => None
  }

  /** Leaves the whole statement to Spark. */
  val OFF = new RelationHint(creates = false, target = None)

  /** Whether the query asks for a join of this relation without a broadcast. */
  def shuffles(relation: Option[HintInfo]): Boolean = relation.exists {
    case h: RelationHint => h.shuffles
    case _ => false
  }

  /** Whether the query asks for filters that are applied to this child of the join. */
  def wants(j: BaseJoinExec, child: Int): Boolean =
    of(j, child).exists(_.target.contains(true)) || of(j, 1 - child).exists(_.creates)

  /** Whether the query forbids filters that are applied to this child of the join. */
  def forbids(j: BaseJoinExec, child: Int): Boolean = of(j, child).exists(_.target.contains(false))

  private def of(j: BaseJoinExec, child: Int): Option[RelationHint] =
    JoinState
      .of(j)
      .flatMap(r => if (child == 0) r.userHint.leftHint else r.userHint.rightHint)
      .collect { case h: RelationHint => h }
}

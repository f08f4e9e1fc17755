package org.apache.spark.sql.springbok.rules.runtimefilters.place

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{JoinSide, Sides}
import org.apache.spark.sql.springbok.cost.ChoicePolicy
import org.apache.spark.sql.springbok.physical.PhysicalRows
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{JoinState, LoggedJoin, RelationHint}

/** Which side of a join its filters are made from. Each join is decided once: one instance serves one planning. */
final private[springbok] class FilterDirection(
    rows: PhysicalRows,
    selectivity: FilterSelectivity,
    deterministic: Determinism,
    conf: SQLConf
) {
  private val policy = ChoicePolicy.of(conf)
  private val decided = new IdentityHashMap[BaseJoinExec, Option[Either[Reason, JoinSide]]]()

  /**
   * The creation side, or why there is none; None for a join that has no keys to filter by. The application side must lose
   * rows without a match anyway. Of two possible creation sides, the selective one is taken, and of two selective ones that
   * whose keys are read from fewer bytes.
   */
  def apply(j: BaseJoinExec): Option[Either[Reason, JoinSide]] = decided.computeIfAbsent(j, decide(_))

  private def decide(j: BaseJoinExec): Option[Either[Reason, JoinSide]] = {
    val allowed = FilterDirection.creationSides(j.joinType)
    j match {
      case b: BroadcastHashJoinExec if b.isNullAwareAntiJoin =>
        Some(Left(Reason.filterJoinType("null-aware anti")))
      case b: BroadcastHashJoinExec => Some(among(j, allowed.filter(_ == JoinSide.of(b.buildSide))))
      case _: ShuffledJoin => Some(among(j, allowed))
      case n: BroadcastNestedLoopJoinExec =>
        allowed
          .find(_ == JoinSide.of(n.buildSide))
          .filter(FilterConjunct.ranges(n, _).nonEmpty)
          .map(side => among(j, Seq(side)))
      case _ => None
    }
  }

  private def among(j: BaseJoinExec, sides: Seq[JoinSide]): Either[Reason, JoinSide] =
    if (sides.isEmpty) Left(Reason.filterJoinType(LoggedJoin.typeName(j.joinType)))
    else {
      val sources = sides.flatMap(s => FilterSource.of(j, s, Sides.children(j)(s), rows).map(s -> _)).toMap
      val usable = sides.filter(s => sources.contains(s) && repeatable(j, s))
      if (!conf.exchangeReuseEnabled) Left(Reason.reuseOff)
      else if (sources.isEmpty) Left(Reason.noSource)
      else if (usable.isEmpty) Left(Reason.indeterminate)
      else Right(best(j, preferred(j, usable, sources), sources))
    }

  /** Whether the side gives the same keys again. A broadcast is the very relation that the join probes. */
  private def repeatable(j: BaseJoinExec, side: JoinSide): Boolean =
    !j.isInstanceOf[ShuffledJoin] || deterministic(Sides.children(j)(side), Sides.keys(j)(side))

  private def preferred(
      j: BaseJoinExec,
      usable: Seq[JoinSide],
      sources: Map[JoinSide, FilterSource]
  ): Seq[JoinSide] = {
    // If one side has finished, it can filter the other without anyone waiting.
    val finished = usable.filter(s =>
      sources(s).exchange match {
        case q: ShuffleQueryStageExec => BuildSides.finished(q)
        case _ => false
      }
    )
    // Sizes that become known later never reverse a chosen direction: scans have been held up for it.
    val before = JoinState.of(j).flatMap(_.filterSource).filter(usable.contains)
    // A side that the query wants to be filtered is not the creation side.
    val hinted = usable.filter(s => RelationHint.wants(j, s.other.index))
    // Nor is a side that has all keys of the other one.
    lazy val selective = usable.filter(s => sources(s).conjuncts.exists(selectivity.selects(j, s, _)))
    if (finished.size == 1) finished
    else if (before.isDefined) before.toSeq
    else if (hinted.size == 1) hinted
    else if (usable.size > 1 && selective.nonEmpty) selective
    else usable
  }

  private def best(j: BaseJoinExec, sides: Seq[JoinSide], sources: Map[JoinSide, FilterSource]): JoinSide = {
    def cheapest = sides.minBy(s => bytes(j, s, sources(s)))
    JoinState.of(j).fold(cheapest)(join => policy.creationSide(sides, join.id)(cheapest))
  }

  /** Expected bytes in memory of what the filters are read from, or else the size that Spark assumes for the side. */
  private def bytes(j: BaseJoinExec, creation: JoinSide, source: FilterSource): Double =
    source.conjuncts.headOption
      .flatMap(selectivity.creation(j, creation, _))
      .flatMap(_.bytes)
      .orElse(rows.sizeInBytes(j, creation))
      .getOrElse(Double.MaxValue)
}

private[springbok] object FilterDirection {

  /** The sides whose keys may filter the other side. */
  def creationSides(t: JoinType): Seq[JoinSide] = {
    val filterable = Sides.dropUnmatched(t)
    JoinSide.both.filter(s => filterable(s.other))
  }
}

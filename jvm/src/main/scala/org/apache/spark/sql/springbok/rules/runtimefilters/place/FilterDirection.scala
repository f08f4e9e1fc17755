package org.apache.spark.sql.springbok.rules.runtimefilters.place

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{JoinSide, Sides}
import org.apache.spark.sql.springbok.cost.ChoicePolicy
import org.apache.spark.sql.springbok.keys.{Comparison, FilterKey, KeyType}
import org.apache.spark.sql.springbok.physical.PhysicalRows
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{JoinState, RelationHint}

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
    if (sides.isEmpty) Left(Reason.filterJoinType(JoinState.typeName(j.joinType)))
    else {
      val sources = sides.flatMap(s => FilterSource.of(j, s, Sides.children(j)(s), rows).map(s -> _)).toMap
      val usable = sides.filter(s => sources.contains(s) && repeatable(j, s))
      if (sources.isEmpty) Left(Reason.noSource)
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
    val before = JoinState.of(j).flatMap(_.filters.source).filter(usable.contains)
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

/**
 * A conjunct of a join's condition that a filter may be made of: an equality of the two sides, or a comparison that bounds
 * the application side's value by the creation side's values.
 *
 * @param index
 *   its number in its join, which all plannings of the query agree on
 * @param creation
 *   the value on the creation side
 * @param application
 *   the value on the application side
 * @param range
 *   None for an equality
 * @param from
 *   the exchange in the join's own stage that `creation` is read from, None if the creation side is itself an exchange
 */
final private[springbok] case class FilterConjunct(
    index: Int,
    creation: Expression,
    application: Expression,
    range: Option[Comparison] = None,
    from: Option[SparkPlan] = None
)

private[springbok] object FilterConjunct extends PredicateHelper {

  /** The conjuncts of a join whose filters are made from this side. */
  def of(j: BaseJoinExec, creation: JoinSide): Seq[FilterConjunct] = {
    val keys = Sides.keys(j)
    val equal = keys(creation).zip(keys(creation.other)).map { case (c, a) => FilterConjunct(0, c, a) }
    (equal ++ ranges(j, creation)).zipWithIndex.map { case (on, at) =>
      on.copy(index = JoinState.of(j).fold(at)(number(_, creation, on)))
    }
  }

  /** Not its position: Spark puts the keys of a shuffled join into the order of its inputs' partitioning. */
  private def number(state: JoinState, creation: JoinSide, on: FilterConjunct): Int = {
    val values = Sides(on.application, on.application).updated(creation, on.creation)
    state.numberOf(values, if (creation == JoinSide.Left) on.range else on.range.map(_.turned))
  }

  /**
   * The comparisons of one side with the other. A row that satisfies one of them for no row of the creation side has no
   * match, whatever the other conjuncts are. In a condition that is not deterministic, they would be evaluated on other rows.
   */
  def ranges(j: BaseJoinExec, creation: JoinSide): Seq[FilterConjunct] =
    j.condition.filter(_.deterministic).toSeq.flatMap(splitConjunctivePredicates).flatMap {
      case LessThan(a, b) => oriented(j, creation, a, b, Comparison(below = true, orEqual = false))
      case LessThanOrEqual(a, b) => oriented(j, creation, a, b, Comparison(below = true, orEqual = true))
      case GreaterThan(a, b) => oriented(j, creation, a, b, Comparison(below = false, orEqual = false))
      case GreaterThanOrEqual(a, b) => oriented(j, creation, a, b, Comparison(below = false, orEqual = true))
      case _ => None
    }

  private def oriented(j: BaseJoinExec, creation: JoinSide, a: Expression, b: Expression, c: Comparison) = {
    val output = Sides.children(j).map(_.outputSet)
    // The creation side's value is computed for rows that no row of the application side may ever be compared with.
    def usable(application: Expression, made: Expression) =
      application.references.subsetOf(output(creation.other)) && made.references.subsetOf(output(creation)) &&
        FilterKey.atScan(application).isDefined && FilterKey.admissible(made) &&
        KeyType.supported(application.dataType) && application.dataType == made.dataType
    if (usable(a, b)) Some(FilterConjunct(0, b, a, Some(c)))
    else if (usable(b, a)) Some(FilterConjunct(0, a, b, Some(c.turned)))
    else None
  }
}

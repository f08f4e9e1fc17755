package org.apache.spark.sql.springbok.rules.aggregates

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.springbok.catalyst.{CannotRaise, DeferredErrors, JoinSide, LocalAggregate, Sides}
import org.apache.spark.sql.springbok.record.JoinState
import org.apache.spark.sql.springbok.stats.estimate.Estimate

/**
 * An operator between an aggregate and a place below it.
 *
 * @param child
 *   the child that leads to the place
 * @param needed
 *   what the operators above need of its output, but for the functions' arguments
 */
final private[aggregates] case class Passed(operator: LogicalPlan, child: Int, needed: AttributeSet) {

  /** What is needed of the child's output. */
  def neededBelow: AttributeSet = operator match {
    case Project(list, _) =>
      AttributeSet(list.filter(e => needed.contains(e.toAttribute)).flatMap(_.references))
    case Filter(condition, _) => needed ++ condition.references
    case j: Join => needed ++ AttributeSet(j.condition.toSeq.flatMap(_.references))
    case e: Expand =>
      AttributeSet(AggregatePath.columns(e).collect { case (c, each) if needed.contains(c) => each }.flatten)
    case _ => needed
  }

  /** The same operator where columns of a join that was above it come from below. */
  def below(nowNeeded: AttributeSet, columns: AttributeSet): Passed = operator match {
    case Project(list, p) =>
      val more = nowNeeded.filter(c => columns.contains(c) && !operator.outputSet.contains(c))
      Passed(Project(list ++ more, p), child, nowNeeded)
    case _ => copy(needed = nowNeeded)
  }
}

/** Rows that each task may aggregate before anything else happens to them. */
private[aggregates] trait LocalPlace {
  def side: LogicalPlan

  /** The columns by which they are grouped. */
  def keys: Seq[Attribute]

  /** The operators above, from the highest down; the last one is the one whose child the side is. */
  def passed: Seq[Passed]

  /** The aggregate above all of them, None if there is only a join that asks for existence. */
  def aggregate: Option[Aggregate]

  /** The functions that are computed of the rows. */
  def computed: Seq[AggregateExpression]

  /** The highest operator, of rows that have been aggregated. */
  def rewritten(retained: Double): LogicalPlan

  /**
   * Whether the rows may be aggregated. Without keys a partition without rows would have a group. A column that the side computes
   * for matching rows only would be computed for all.
   */
  def isPossible: Boolean = {
    val buffers = computed.flatMap(_.aggregateFunction.aggBufferAttributes)
    keys.nonEmpty && keys.forall(k => SplitAggregate.isExact(k.dataType)) &&
    buffers.forall(b => UnsafeRow.isMutable(b.dataType)) && !side.isInstanceOf[LocalAggregate] &&
    DeferredErrors.in(side, AttributeSet.empty)(_.children).isEmpty
  }
}

/**
 * A side of a join whose rows may be aggregated before they are joined, after some of the joins above it; or what ROLLUP, CUBE or
 * GROUPING SETS repeat.
 *
 * @param top
 *   the aggregate above
 * @param keys
 *   its columns that anything above needs other than for the functions: rows that are equal in them are joined with the same rows
 * @param functions
 *   the aggregate's functions, each as one of the side's columns
 * @param passed
 *   the operators above, from the aggregate down; the last one is the join or the expansion
 */
final private[aggregates] case class Place(
    top: Aggregate,
    side: LogicalPlan,
    keys: Seq[Attribute],
    functions: Seq[SplitAggregate.Split],
    passed: Seq[Passed]
) extends LocalPlace {
  def aggregate: Option[Aggregate] = Some(top)
  def computed: Seq[AggregateExpression] = functions.flatMap(_._2.below)

  /**
   * The place after those of the inner joins above it that join the side with columns of fixed length alone, such as a date's
   * year: only such a join may have the columns by which the query groups, with fewer values than the side's key. Inner joins
   * commute. None if there are none.
   */
  def afterJoins: Option[Place] = {
    val inner = passed.forall { case Passed(p, _, _) => !p.isInstanceOf[Join] || AggregatePath.isInner(p) }
    val (moved, left) = passed.partition(p => inner && moves(p))
    Option.when(moved.nonEmpty && left.lastOption.exists(_ eq passed.last)) {
      val joined = moved.foldRight(side) { case (Passed(j, i, _), p) =>
        j.withNewChildren(j.children.updated(i, p))
      }
      val (path, needed) = left.foldLeft((Seq.empty[Passed], passed.head.needed)) {
        case ((done, needed), p) =>
          val here = p.below(needed, joined.outputSet -- side.outputSet)
          (done :+ here, here.neededBelow)
      }
      copy(side = joined, keys = joined.output.filter(needed.contains), passed = path)
    }
  }

  private def moves(p: Passed): Boolean = p.operator match {
    case j: Join =>
      val other = j.children(1 - p.child)
      other.output.forall(c => !p.needed.contains(c) || UnsafeRow.isFixedLength(c.dataType)) &&
      j.condition.exists(c => CannotRaise(c) && c.references.subsetOf(side.outputSet ++ other.outputSet))
    case _ => false
  }

  /** The aggregate of whose functions some have been computed here. */
  def rewritten(retained: Double): Aggregate = {
    val partial = functions.map(_._2.below.map(f => Alias(f, f.aggregateFunction.prettyName)()))
    val local = LocalAggregate(retained, Aggregate(keys, keys ++ partial.flatten, side))
    // An outer join above makes even counts null. Without adaptive execution no rule of Spark's would say so.
    def column(a: Alias) = a.toAttribute.withNullability(true)
    val added = partial.flatten.map(column)
    val below = passed.foldRight(local: LogicalPlan) {
      case (Passed(Project(list, _), _, needed), child) =>
        Project(list.filter(e => needed.contains(e.toAttribute)) ++ added, child)
      case (Passed(e: Expand, _, needed), child) =>
        val kept = AggregatePath.columns(e).filter(c => needed.contains(c._1))
        Expand(e.projections.indices.map(i => kept.map(_._2(i)) ++ added), kept.map(_._1) ++ added, child)
      case (Passed(p, i, _), child) => p.withNewChildren(p.children.updated(i, child))
    }
    val results = AggregatePath
      .functions(top)
      .zip(functions.zip(partial))
      .map { case (f, ((_, split), columns)) =>
        f.canonicalized -> split.result(columns.map(column))
      }
      .toMap
    val list = top.aggregateExpressions.map(_.transformUp { case f: AggregateExpression =>
      results(f.canonicalized)
    }.asInstanceOf[NamedExpression])
    top.copy(aggregateExpressions = list, child = below)
  }
}

private[aggregates] object AggregatePath {

  def functions(a: Aggregate): Seq[AggregateExpression] =
    a.aggregateExpressions.flatMap(_.collect { case f: AggregateExpression => f }).distinctBy(_.canonicalized)

  /** The columns of an expansion, each with its value in each of the rows that a row becomes. */
  def columns(e: Expand): Seq[(Attribute, Seq[Expression])] = e.output.zip(e.projections.transpose)

  /** The sides of a join that may be aggregated: a side is whole, or what it lacks is added as rows of nulls. */
  private def sides(t: JoinType): Seq[JoinSide] = t match {
    case _: InnerLike | LeftOuter | RightOuter => JoinSide.both
    case LeftSemi | LeftAnti => Seq(JoinSide.Left)
    case _ => Nil
  }

  def isInner(p: LogicalPlan): Boolean = p match {
    case j: Join => j.joinType == Inner && j.hint == JoinHint.NONE
    case _ => false
  }

  /** Whether the join adds rows to a child that have a null in each of its columns. */
  def addsNulls(t: JoinType, child: Int): Boolean = (t, child) match {
    case (LeftOuter, 1) | (RightOuter, 0) => true
    case _ => false
  }
}

final private class AggregatePath(a: Aggregate, stats: LogicalPlan => Estimate) extends AliasHelper {
  import AggregatePath._

  private type Functions = Seq[SplitAggregate.Split]

  /** The places below the aggregate, the highest first: with each function as it is, and with its conditions above. */
  def places: Seq[Place] = {
    val all = functions(a)
    val outside = a.aggregateExpressions.map(_.transform { case f: AggregateExpression => f.resultAttribute })
    val needed = AttributeSet((a.groupingExpressions ++ outside).flatMap(_.references)) --
      all.map(_.resultAttribute)
    def from(split: Seq[Option[SplitAggregate.Split]]) =
      if (split.contains(None)) Nil
      else {
        val conditions = AttributeSet(split.flatten.flatMap(_._2.condition).flatMap(_.references))
        below(a.child, needed ++ conditions, split.flatten, Vector.empty)
      }
    val known = digits(a.child)
    val conditional = all.map(SplitAggregate.conditional(_, known))
    from(all.map(SplitAggregate.whole(_, known))) ++
      (if (conditional.flatten.exists(_._2.condition.isDefined)) from(conditional) else Nil)
  }

  private def rows(p: LogicalPlan): Double = stats(p).rows.fold(0.0)(_.value)

  private def digits(p: LogicalPlan): SplitAggregate.Digits =
    a => stats(p).columns.get(a).flatMap(_.stored.digits)

  private def below(p: LogicalPlan, needed: AttributeSet, fs: Functions, passed: Vector[Passed]): Seq[Place] =
    p match {
      case project @ Project(list, child) if list.forall(_.deterministic) =>
        val here = Passed(p, 0, needed)
        computed(fs, getAliasMap(project), child)
          .fold(Seq.empty[Place])(below(child, here.neededBelow, _, passed :+ here))
      case e: Expand if isOnTop(passed) && e.projections.flatten.forall(_.deterministic) =>
        val here = Passed(p, 0, needed)
        val (same, different) = columns(e).partition(c => c._2.forall(_.semanticEquals(c._2.head)))
        val aliases = AttributeMap(same.map { case (c, each) => c -> Alias(each.head, c.name)(c.exprId) })
        val args = AttributeSet(fs.flatMap(_._1.references))
        if (different.exists(c => args.contains(c._1))) Nil
        else computed(fs, aliases, e.child).fold(Seq.empty[Place])(at(e.child, here, _, passed))
      case Filter(condition, child) if condition.deterministic =>
        val here = Passed(p, 0, needed)
        below(child, here.neededBelow, fs, passed :+ here)
      case j: Join if JoinState.isMissing(j) && j.condition.forall(_.deterministic) =>
        side(j, fs).toSeq.flatMap(of(j, _, needed, fs, passed))
      case _ => Nil
    }

  /** Whether there is no join above. */
  private def isOnTop(passed: Seq[Passed]): Boolean = !passed.exists(_.operator.isInstanceOf[Join])

  /** The functions of a child's columns, None if one of them cannot be split so. */
  private def computed(fs: Functions, columns: AttributeMap[Alias], child: LogicalPlan): Option[Functions] = {
    val now = fs.map { case (f, s) =>
      val replaced = replaceAlias(f, columns).asInstanceOf[AggregateExpression]
      SplitAggregate.of(replaced, digits(child)).map(again => replaced -> s.copy(below = again.below))
    }
    Option.when(!now.contains(None))(now.flatten)
  }

  /** The side that has all arguments; the larger one if both have. */
  private def side(j: Join, fs: Functions): Option[JoinSide] = {
    val used = AttributeSet(fs.flatMap(_._1.references))
    sides(j.joinType)
      .filter(s => used.subsetOf(Sides(j.left, j.right)(s).outputSet))
      .maxByOption(s => rows(Sides(j.left, j.right)(s)))
  }

  private def of(
      j: Join,
      side: JoinSide,
      needed: AttributeSet,
      fs: Functions,
      passed: Vector[Passed]
  ): Seq[Place] = {
    val plan = Sides(j.left, j.right)(side)
    val all =
      if (!addsNulls(j.joinType, side.index)) fs.map(Option(_))
      else fs.map { case (f, s) => SplitAggregate.withUnmatched(f, s).map(f -> _) }
    if (all.contains(None)) Nil else at(plan, Passed(j, side.index, needed), all.flatten, passed)
  }

  /** The place that is an operator's child, and those below. */
  private def at(child: LogicalPlan, here: Passed, fs: Functions, passed: Vector[Passed]): Seq[Place] = {
    val (keys, path) = (child.output.filter(here.neededBelow.contains), passed :+ here)
    val place = Place(a, child, keys, fs, path)
    (place +: place.afterJoins.toSeq).filter(_.isPossible) ++ below(child, AttributeSet(keys), fs, path)
  }
}

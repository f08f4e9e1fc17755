package org.apache.spark.sql.springbok.stats.operator

import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeMap,
  AttributeSet,
  Expression,
  ExpressionSet
}
import org.apache.spark.sql.catalyst.planning.{ExtractEquiJoinKeys, ExtractSingleColumnNullAwareAntiJoin}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreePattern._
import org.apache.spark.sql.execution.adaptive.{BroadcastQueryStageExec, LogicalQueryStage}
import org.apache.spark.sql.springbok.catalyst.{JoinSide, Sides, SparkPlanning, SparkTypes}
import org.apache.spark.sql.springbok.stats.RuntimeFeedback
import org.apache.spark.sql.springbok.stats.estimate._

/** Rows and columns of a join, by Impala's FK/PK and generic formulas. */
private[operator] object JoinStats {

  /**
   * @param estimate
   *   of the plans below
   * @param feedback
   *   what stages tell; None if they do not count
   */
  def apply(j: Join, estimate: LogicalPlan => Estimate, feedback: Option[RuntimeFeedback]): Estimate = {
    val (l, r) = (estimate(j.left), estimate(j.right))
    val keys = equated(j)
    val unique = uniqueness(j, l, r, feedback)
    val sides =
      for ((lk, rk) <- keys; lr <- l.rows; rr <- r.rows)
        yield Sides(Keyed(j.left, l, lr, lk), Keyed(j.right, r, rr, rk))
    def unmatched(s: JoinSide) = sides.fold(0.0)(k => k(s).unmatched(k(s.other)))
    val rows = for (lr <- l.rows; rr <- r.rows) yield {
      val domain = keys.fold(1.0) { case (lk, rk) =>
        KeyDomain.of(lk, rk, l, r) *
          FilterStats.pruned(j.left, lk.zip(rk), l, estimate) *
          FilterStats.pruned(j.right, rk.zip(lk), r, estimate)
      }
      val Sides(leftOnce, rightOnce) = once(j, unique, feedback)
      val found = matches(lr, rr, domain, leftOnce, rightOnce)
      // Of the left side's keys, those that the right side has.
      def matching =
        math.min(1.0, keys.fold(rr.value)(k => KeyDomain.present(k._2, r, rr)) / math.max(1.0, domain))
      j.joinType match {
        case LeftOuter => preserved(found, lr, alone = leftOnce && !rightOnce)
        case t if SparkTypes.isSingleJoin(t) => preserved(found, lr, alone = leftOnce && !rightOnce)
        case RightOuter => preserved(found, rr, alone = rightOnce && !leftOnce)
        case FullOuter => found.atLeast(lr + rr)
        case LeftSemi => part(lr, matching)
        case LeftAnti => part(lr, math.max(Selectivity.default, unmatched(JoinSide.Left)))
        case _: ExistenceJoin => lr
        case _ => found
      }
    }
    val nulls = j.joinType match {
      case LeftOuter => mostlyNull(unmatched(JoinSide.Left), l, rows)
      case RightOuter => mostlyNull(unmatched(JoinSide.Right), r, rows)
      case _ => None
    }
    val equal = keys.toSeq.flatMap { case (lk, rk) => lk.zip(rk) }
    val columns = JoinColumns(j, equal, l, r, unique, nulls)
    val e = Estimate(rows, rowBytes(j, l, r, columns), columns).narrowed
    val undone =
      for {
        k <- sides; n <- e.rows; f <- feedback
        all <- unfiltered(j, n, k.left, k.right, f)
      } yield all
    undone.fold(e)(n => e.withRows(Some(n)))
  }

  /**
   * Fraction of an outer join's rows in which the other side's keys are null, where it is most of them: people ask for these rows by
   * `IS NULL`. None otherwise, since a few rows without a match are no more than a guess.
   */
  private def mostlyNull(unmatched: Double, side: Estimate, joined: Option[Rows]): Option[Double] =
    for (s <- side.rows; n <- joined; part = unmatched * s.value / math.max(1.0, n.value) if part > 0.5)
      yield part

  private def equated(j: Join): Option[(Seq[Expression], Seq[Expression])] = j match {
    case ExtractEquiJoinKeys(_, lk, rk, _, _, _, _, _) => Some(lk -> rk)
    case ExtractSingleColumnNullAwareAntiJoin(lk, rk) => Some(lk -> rk)
    case _ => None
  }

  private def uniqueness(
      j: Join,
      l: Estimate,
      r: Estimate,
      feedback: Option[RuntimeFeedback]
  ): Sides[Uniqueness] = {
    val keys = equated(j)
    Sides(
      uniqueness(j.left, keys.map(_._1), l, feedback),
      uniqueness(j.right, keys.map(_._2), r, feedback)
    )
  }

  /** Whether each key is there once on a side, as far as what is held in memory may rely on it. */
  def once(j: Join, l: Estimate, r: Estimate, feedback: Option[RuntimeFeedback]): Sides[Boolean] =
    once(j, uniqueness(j, l, r, feedback), feedback)

  private def once(j: Join, u: Sides[Uniqueness], feedback: Option[RuntimeFeedback]): Sides[Boolean] = {
    val proofNeeded = feedback.isDefined && settled(j)
    u.map(side => if (proofNeeded) side.proven else side.believed)
  }

  /** With what was measured below of values of variable length, but not of broadcasts: those are measured in whole pages. */
  private def rowBytes(j: Join, l: Estimate, r: Estimate, columns: AttributeMap[ColumnStats]): Double = {
    val measured = Seq(j.left -> l, j.right -> r).collect {
      case (p, e) if !isBroadcast(p) && p.outputSet.intersect(j.outputSet).nonEmpty =>
        e.unexplainedBytes(p.output)
    }
    Estimate.rowBytes(j.output, columns) + measured.sum
  }

  private def isBroadcast(p: LogicalPlan): Boolean = p match {
    case LogicalQueryStage(_, _: BroadcastQueryStageExec) => true
    case _ => false
  }

  private def matches(l: Rows, r: Rows, domain: Double, leftOnce: Boolean, rightOnce: Boolean): Rows = {
    val expected = KeyDomain.pairs(l, r, domain)
    Rows(
      expected,
      math.max(expected, most(l.bound, r.bound, leftOnce, rightOnce)),
      Source.Estimated,
      math.max(expected, most(l.most, r.most, leftOnce, rightOnce))
    )
  }

  /** A side bounds the rows of an inner join if no key of the other is there twice. Otherwise skew has no bound. */
  private def most(l: Double, r: Double, leftOnce: Boolean, rightOnce: Boolean): Double =
    if (leftOnce && rightOnce) math.min(l, r)
    else if (rightOnce) l
    else if (leftOnce) r
    else l * r

  /**
   * The matches and all other rows of a side.
   *
   * @param alone
   *   whether only this side has each key once: then one of its rows may have all matches, and the others none
   */
  private def preserved(matches: Rows, side: Rows, alone: Boolean): Rows = {
    val all = matches.atLeast(side)
    if (alone) all.copy(bound = matches.bound + side.bound, most = matches.most + side.most) else all
  }

  private def part(side: Rows, fraction: Double): Rows =
    side.copy(value = side.value * fraction, source = Source.Estimated)

  /**
   * Whether the join is next to run and no stage is left that could prove a key unique. From then on only what is proven
   * decides which of its rows are held in memory: a broadcast that was planned on a belief may still become a shuffle.
   */
  private def settled(j: Join): Boolean =
    j.children.exists(_.isInstanceOf[LogicalQueryStage]) && !j.children.exists(_.exists {
      case s: LogicalQueryStage => !SparkPlanning.isMaterialized(s)
      case _ => false
    })

  /** A side of a join with its equi-join keys. */
  private case class Keyed(plan: LogicalPlan, e: Estimate, rows: Rows, keys: Seq[Expression]) {

    /** Rows of a join of which each row of another side has a match. */
    def matchedBy(other: Rows): Double = KeyDomain.pairs(other, rows, KeyDomain.present(keys, e, rows))

    /** The part of its rows that finds no row of another side. */
    def unmatched(other: Keyed): Double = KeyDomain.missing(keys, other.keys, e, other.e)
  }

  /**
   * The rows of a join that drops rows without a match, if its own filters have removed such rows in the stages of its sides
   * one by one. They must not be subtracted again.
   *
   * A filter that reached several tables of a side would be undone for each of them. But all rows left of that side have a
   * match, so there are no more results than if each of them finds as many rows as the other side has for a key.
   */
  private def unfiltered(
      j: Join,
      n: Rows,
      left: Keyed,
      right: Keyed,
      feedback: RuntimeFeedback
  ): Option[Rows] = {
    def retained(side: Keyed, most: => Double) = feedback.retainedFor(j, side.plan).map(_ -> most)
    val filtered = j.joinType match {
      case _: InnerLike =>
        retained(left, right.matchedBy(left.rows)) ++ retained(right, left.matchedBy(right.rows))
      // A left row is there once at most.
      case LeftSemi => retained(left, left.rows.value) ++ retained(right, left.rows.value)
      case _ => Nil
    }
    Option.when(filtered.nonEmpty) {
      val most = math.min(n.bound, filtered.map(_._2).min)
      n.copy(value = math.max(n.value, math.min(most, n.value / filtered.map(_._1).product)))
    }
  }

  /** Keys of a side of a join. They are known of a finished broadcast, and of groups by no more than these keys. */
  private def uniqueness(
      side: LogicalPlan,
      keys: Option[Seq[Expression]],
      e: Estimate,
      feedback: Option[RuntimeFeedback]
  ): Uniqueness = {
    val broadcast = side match {
      case LogicalQueryStage(_, s: BroadcastQueryStageExec) if s.isMaterialized =>
        feedback.flatMap(_.keysAreUnique(s))
      case _ => None
    }
    def grouped(k: Seq[Expression]) =
      mayGroup(side) && planned(side).distinctKeys.exists(_.subsetOf(ExpressionSet(k)))
    broadcast match {
      case Some(once) => if (once) Uniqueness.Proven else Uniqueness.Unknown
      case None =>
        keys.fold[Uniqueness](Uniqueness.Unknown) { k =>
          val columns = KeyDomain.uniqueness(k, e)
          if (columns.proven || !grouped(k)) columns else Uniqueness.Proven
        }
    }
  }

  /** Whether the plan has an operator that makes keys distinct. Most sides of joins have none, and copying them takes time. */
  private def mayGroup(p: LogicalPlan): Boolean =
    p.containsAnyPattern(AGGREGATE, DISTINCT_LIKE, LIMIT, EXCEPT, INTERSECT) ||
      p.containsPattern(LOGICAL_QUERY_STAGE) && p.exists {
        case s: LogicalQueryStage => mayGroup(s.logicalPlan)
        case _ => false
      }

  /** The plan that stages were made of: Spark propagates distinct keys through it, and none from a stage. */
  private def planned(p: LogicalPlan): LogicalPlan =
    p.transformDownWithPruning(_.containsPattern(LOGICAL_QUERY_STAGE)) { case s: LogicalQueryStage =>
      planned(s.logicalPlan)
    }
}

/** Columns of a join's output. */
private[operator] object JoinColumns {

  /**
   * @param keys
   *   the equi-join keys, each with that of the other side
   * @param unique
   *   whether a key is there once on a side
   * @param nulls
   *   fraction of the rows in which the keys of an outer join's other side are null, None if unknown
   */
  def apply(
      j: Join,
      keys: Seq[(Expression, Expression)],
      l: Estimate,
      r: Estimate,
      unique: Sides[Uniqueness],
      nulls: Option[Double]
  ): AttributeMap[ColumnStats] = {
    // A left row passes these joins at most once, whatever the right side has.
    val copies = j.joinType match {
      case LeftSemi | LeftAnti | _: ExistenceJoin => Uniqueness.Proven
      case _ => unique.right
    }
    val compared = AttributeSet(keys.flatMap(_.productIterator.collect { case a: Attribute => a }))
    def ofNull(a: Attribute) = nulls.filter(_ => compared.contains(a))
    AttributeMap(
      side(l, padded = j.joinType == RightOuter || j.joinType == FullOuter, copies, ofNull) ++
        side(r, padded = j.joinType == LeftOuter || j.joinType == FullOuter, unique.left, ofNull) ++
        equalized(j, keys, l, r)
    )
  }

  /** Rows without a match add nulls that the table does not have. Rows with several matches are there several times. */
  private def side(
      e: Estimate,
      padded: Boolean,
      other: Uniqueness,
      nulls: Attribute => Option[Double]
  ): Seq[(Attribute, ColumnStats)] =
    e.columns.toSeq.map { case (a, c) =>
      a -> c.copy(
        nullFraction = if (padded) nulls(a) else c.nullFraction,
        uniqueness = if (padded) Uniqueness.Unknown else c.uniqueness.min(other)
      )
    }

  /** Of two columns that an inner or semi join compares, neither has more values left than the other. */
  private def equalized(
      j: Join,
      keys: Seq[(Expression, Expression)],
      l: Estimate,
      r: Estimate
  ): Seq[(Attribute, ColumnStats)] = j.joinType match {
    case _: InnerLike | LeftSemi =>
      keys.flatMap {
        case (a: Attribute, b: Attribute) =>
          for {
            x <- l.columns.get(a).toSeq
            y <- r.columns.get(b).toSeq
            n = math.min(x.remaining, y.remaining)
            both = if (j.joinType == LeftSemi) Uniqueness.Proven else x.uniqueness.min(y.uniqueness)
            (at, c) <- Seq(a -> x, b -> y)
          } yield at -> c.copy(remaining = n, uniqueness = c.uniqueness.min(both))
        case _ => Nil
      }
    case _ => Nil
  }
}

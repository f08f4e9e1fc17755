package org.apache.spark.sql.springbok.stats.operator

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.{ExtractEquiJoinKeys, ExtractSingleColumnNullAwareAntiJoin}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern.LOGICAL_QUERY_STAGE
import org.apache.spark.sql.execution.adaptive.{BroadcastQueryStageExec, LogicalQueryStage}
import org.apache.spark.sql.execution.springbok.BroadcastKeys
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.stats.estimate.{
  ColumnStats,
  Estimate,
  Rows,
  Selectivity,
  Source,
  WidenedColumn
}

/** Rows and columns of a join, by Impala's FK/PK and generic formulas. */
private[springbok] object JoinEstimate {

  /**
   * @param runtime
   *   whether finished stages count
   */
  def apply(j: Join, l: Estimate, r: Estimate, runtime: Boolean): Estimate = {
    val keys = j match {
      case ExtractEquiJoinKeys(_, lk, rk, _, _, _, _, _) => Some(lk -> rk)
      case ExtractSingleColumnNullAwareAntiJoin(lk, rk) => Some(lk -> rk)
      case _ => None
    }
    val left = Uniqueness.of(j.left, keys.map(_._1), l, runtime)
    val right = Uniqueness.of(j.right, keys.map(_._2), r, runtime)
    val columns = columnsOf(j, l, r, left, right)
    val width = Estimate.rowBytes(j.output, columns)
    val rows = for (lr <- l.rows; rr <- r.rows) yield {
      val domain = keys.fold(1.0) { case (lk, rk) => keyDomain(lk, rk, l, r) }
      val matched = pairs(lr, rr, domain)
      val once = if (runtime && settled(j)) (left.proven, right.proven) else (left.believed, right.believed)
      val matches = Rows(
        matched,
        math.max(matched, most(lr.bound, rr.bound, once)),
        Source.Estimated,
        math.max(matched, most(lr.most, rr.most, once))
      )
      val kept = math.min(1.0, rr.value / math.max(1.0, domain))
      j.joinType match {
        case LeftSemi => lr.copy(value = lr.value * kept, source = Source.Estimated)
        case LeftAnti =>
          lr.copy(value = lr.value * math.max(Selectivity.default, 1 - kept), source = Source.Estimated)
        case _: ExistenceJoin => lr
        case LeftOuter | LeftSingle => matches.atLeast(lr)
        case RightOuter => matches.atLeast(rr)
        case FullOuter => matches.atLeast(lr + rr)
        case _ => matches
      }
    }
    Estimate(rows, width, columns).narrowed
  }

  /** Rows of an inner join are bounded by a side if the other has no key twice; else by nothing, as skew has no bound. */
  private def most(l: Double, r: Double, once: (Boolean, Boolean)): Double = once match {
    case (true, true) => math.min(l, r)
    case (false, true) => l
    case (true, false) => r
    case _ => l * r
  }

  /**
   * Whether the join is next to run, and no stage is left that could prove a key unique: what is held in memory of its
   * rows is decided by what is proven from now on. A broadcast that was planned on a belief may still become a shuffle.
   */
  private def settled(j: Join): Boolean = {
    def stages(p: LogicalPlan) = p.collect { case s: LogicalQueryStage => s }
    j.children
      .exists(_.isInstanceOf[LogicalQueryStage]) && j.children.flatMap(stages).forall(_.isMaterialized)
  }

  private def columnsOf(
      j: Join,
      l: Estimate,
      r: Estimate,
      left: Uniqueness,
      right: Uniqueness
  ): AttributeMap[ColumnStats] = {
    val filters = j.joinType match {
      case LeftSemi | LeftAnti | _: ExistenceJoin => Uniqueness(believed = true, proven = true)
      case _ => right
    }
    // Rows without a match bring nulls that the table does not have; those with several matches are there several times.
    def side(e: Estimate, padded: Boolean, other: Uniqueness) = e.columns.toSeq.map { case (a, c) =>
      a -> c.copy(
        nulls = if (padded) None else c.nulls,
        unique = c.unique && other.believed && !padded,
        proven = c.proven && other.proven && !padded
      )
    }
    AttributeMap(
      side(l, j.joinType == RightOuter || j.joinType == FullOuter, filters) ++
        side(r, j.joinType == LeftOuter || j.joinType == FullOuter, left) ++ equalized(j, l, r)
    )
  }

  /** Of an inner or semi join's equal columns neither has more values left than the other. */
  private def equalized(j: Join, l: Estimate, r: Estimate): Seq[(Attribute, ColumnStats)] = j match {
    case ExtractEquiJoinKeys(_: InnerLike | LeftSemi, lk, rk, _, _, _, _, _) =>
      val semi = j.joinType == LeftSemi
      lk.zip(rk).flatMap {
        case (a: Attribute, b: Attribute) =>
          for (
            x <- l.columns.get(a).toSeq; y <- r.columns.get(b).toSeq; n = math.min(x.distinct, y.distinct);
            (at, c) <- Seq(a -> x, b -> y)
          )
            yield at -> c.copy(
              distinct = n,
              unique = c.unique && (semi || x.unique && y.unique),
              proven = c.proven && (semi || x.proven && y.proven)
            )
        case _ => Nil
      }
    case _ => Nil
  }

  /**
   * Distinct key combinations that rows of both sides are taken from; the divisor of Impala's generic join formula
   * `lhs × rhs / max(ndvL, ndvR)`. Of a key that is surely unique on one side it is the other's number of values, if that is
   * known and smaller: queries ask a dimension for what the facts have, so its filtered rows are among them. This is
   * Impala's FK/PK formula `lhs × rhs/rhsTableRows × rhsNdv/lhsNdv`, at most lhs. Where both are known by their tables'
   * row counts alone the smaller one is taken: a foreign key has no more values than the key that it refers to. Of
   * unknown keys each row is taken for a value.
   */
  def keyDomain(leftKeys: Seq[Expression], rightKeys: Seq[Expression], l: Estimate, r: Estimate): Double =
    (ndvOf(leftKeys, l), ndvOf(rightKeys, r)) match {
      case (Some(a), Some(b)) =>
        (Uniqueness.of(leftKeys, l).proven, Uniqueness.of(rightKeys, r).proven) match {
          case (true, true) => math.max(a.ndv, b.ndv)
          case (false, true) => referred(a, b, r)
          case (true, false) => referred(b, a, l)
          case _ if a.tight || b.tight => math.max(a.ndv, b.ndv)
          case _ => math.min(a.ndv, b.ndv)
        }
      case (Some(a), None) => a.ndv
      case (None, Some(b)) => b.ndv
      case (None, None) => Seq(l, r).flatMap(_.rows).map(_.value).minOption.getOrElse(1.0)
    }

  /** The domain of a foreign key and the unique key that it refers to: no row finds two of them. */
  private def referred(foreign: KeyNdv, key: KeyNdv, keys: Estimate): Double = {
    val values = if (foreign.tight) math.min(foreign.ndv, key.ndv) else key.ndv
    math.max(values, keys.rows.fold(0.0)(_.value))
  }

  /** Pairs of rows with equal keys, None if the rows of a side are unknown. */
  def pairs(leftKeys: Seq[Expression], rightKeys: Seq[Expression], l: Estimate, r: Estimate): Option[Double] =
    for (lr <- l.rows; rr <- r.rows) yield pairs(lr, rr, keyDomain(leftKeys, rightKeys, l, r))

  private def pairs(l: Rows, r: Rows, domain: Double): Double = l.value * r.value / math.max(1.0, domain)

  /** The column that a key is, or of which it is a cast that changes no value. */
  private[springbok] def column(key: Expression, e: Estimate): Option[ColumnStats] = key match {
    case WidenedColumn(a) => e.columns.get(a)
    case _ => None
  }

  private def ndvOf(keys: Seq[Expression], e: Estimate): Option[KeyNdv] = {
    val stats = keys.flatMap(column(_, e))
    Option.when(stats.size == keys.size && stats.forall(_.ndv.isDefined)) {
      val product = stats.flatMap(_.ndv).product
      KeyNdv(math.min(product, stats.map(_.tableRows).max), stats.size == 1 && stats.forall(_.tight))
    }
  }
}

final private[springbok] case class KeyNdv(ndv: Double, tight: Boolean)

/** Whether no two rows of a side have the same keys: by what statistics look like, and beyond doubt. */
final private[springbok] case class Uniqueness(believed: Boolean, proven: Boolean)

private[springbok] object Uniqueness {
  private val unknown = Uniqueness(believed = false, proven = false)

  def of(keys: Seq[Expression], e: Estimate): Uniqueness = {
    val columns = keys.flatMap(JoinEstimate.column(_, e))
    Uniqueness(columns.exists(_.unique), columns.exists(_.proven))
  }

  /** Of a side of a join: one that has been broadcast for it is known, and so are groups by no more than these keys. */
  def of(side: LogicalPlan, keys: Option[Seq[Expression]], e: Estimate, runtime: Boolean): Uniqueness = {
    val known = side match {
      case LogicalQueryStage(_, s: BroadcastQueryStageExec) if runtime && s.isMaterialized =>
        BroadcastKeys.unique(s, SQLConf.get)
      case _ => None
    }
    def grouped(k: Seq[Expression]) = planned(side).distinctKeys.exists(_.subsetOf(ExpressionSet(k)))
    known
      .map(once => Uniqueness(once, once))
      .getOrElse(keys.fold(unknown) { k =>
        val columns = of(k, e)
        if (columns.proven || !grouped(k)) columns else Uniqueness(believed = true, proven = true)
      })
  }

  /** The plan that finished stages were made of: Spark propagates distinct keys through it, and none from a stage. */
  private def planned(p: LogicalPlan): LogicalPlan =
    p.transformDownWithPruning(_.containsPattern(LOGICAL_QUERY_STAGE)) { case s: LogicalQueryStage =>
      planned(s.logicalPlan)
    }
}

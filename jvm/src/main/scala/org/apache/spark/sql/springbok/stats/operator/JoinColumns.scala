package org.apache.spark.sql.springbok.stats.operator

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeMap, Expression}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.Join
import org.apache.spark.sql.springbok.stats.estimate.{ColumnStats, Estimate, Uniqueness}

/** Columns of a join's output. */
private[operator] object JoinColumns {

  /**
   * @param keys
   *   the equi-join keys, each with that of the other side
   * @param left,
   *   right whether a key is there once on that side
   */
  def apply(
      j: Join,
      keys: Seq[(Expression, Expression)],
      l: Estimate,
      r: Estimate,
      left: Uniqueness,
      right: Uniqueness
  ): AttributeMap[ColumnStats] = {
    // A left row passes these joins at most once, whatever the right side has.
    val copies = j.joinType match {
      case LeftSemi | LeftAnti | _: ExistenceJoin => Uniqueness.Proven
      case _ => right
    }
    AttributeMap(
      side(l, padded = j.joinType == RightOuter || j.joinType == FullOuter, copies) ++
        side(r, padded = j.joinType == LeftOuter || j.joinType == FullOuter, left) ++ equalized(j, keys, l, r)
    )
  }

  /** Rows without a match add nulls that the table does not have. Rows with several matches are there several times. */
  private def side(e: Estimate, padded: Boolean, other: Uniqueness): Seq[(Attribute, ColumnStats)] =
    e.columns.toSeq.map { case (a, c) =>
      a -> c.copy(
        nullFraction = if (padded) None else c.nullFraction,
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

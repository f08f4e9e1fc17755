package org.apache.spark.sql.springbok.stats.operator

import org.apache.spark.sql.catalyst.expressions.AttributeMap
import org.apache.spark.sql.catalyst.plans.logical.Union
import org.apache.spark.sql.springbok.stats.estimate.{ColumnStats, Estimate, Rows, Source}

/** Set operations. */
private[operator] object SetStats {
  def union(u: Union, children: Seq[Estimate]): Estimate = {
    val rows = Option.when(children.forall(_.rows.isDefined)) {
      children.flatMap(_.rows).foldLeft(Rows(0, 0, Source.Estimated))(_ + _)
    }
    // Spark computes the output of a projection anew each time.
    val outputs = u.children.map(_.output.toIndexedSeq)
    val columns = u.output.zipWithIndex.flatMap { case (a, i) =>
      val each = outputs.zip(children).map { case (o, e) => e.columns.get(o(i)) }
      Option.when(each.forall(_.isDefined))(a -> ColumnStats.united(each.flatten))
    }
    val known = AttributeMap(columns)
    // The widest branch may be nearly all of it.
    val bytes = (Estimate.rowBytes(u.output, known) +: children.map(_.rowBytes)).max
    Estimate(rows, bytes, known).narrowed
  }

  /** No more rows than the smaller side has. */
  def intersect(l: Estimate, r: Estimate): Estimate =
    l.withRows((l.rows ++ r.rows).minByOption(_.bound).map(_.copy(source = Source.Estimated)))
}

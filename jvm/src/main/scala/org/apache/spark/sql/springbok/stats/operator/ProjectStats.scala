package org.apache.spark.sql.springbok.stats.operator

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.springbok.stats.estimate.{ColumnStats, Estimate, WidenedColumn}

/** A projection keeps the rows, and the statistics of the columns that it passes on. */
private[operator] object ProjectStats {
  def apply(p: Project, child: Estimate): Estimate = {
    val known = columns(p.projectList, child)
    Estimate(child.rows, Estimate.rowBytes(p.output, known) + unexplainedBytes(p, child), known)
  }

  /** Statistics of the columns that are passed on under the same or another name, or cast to a wider type. */
  def columns(list: Seq[NamedExpression], child: Estimate): AttributeMap[ColumnStats] =
    AttributeMap(list.flatMap {
      case a: Attribute => child.columns.get(a).map(a -> _)
      case a @ Alias(WidenedColumn(from), _) => child.columns.get(from).map(a.toAttribute -> _)
      case _ => None
    })

  /**
   * Bytes of a row below that were measured and that its columns' statistics do not explain. They belong to the values of
   * variable length, and stay if one of those is passed on.
   */
  private def unexplainedBytes(p: Project, child: Estimate): Double =
    if (p.output.forall(a => UnsafeRow.isFixedLength(a.dataType))) 0
    else math.max(0, child.rowBytes - Estimate.rowBytes(p.child.output, child.columns))
}

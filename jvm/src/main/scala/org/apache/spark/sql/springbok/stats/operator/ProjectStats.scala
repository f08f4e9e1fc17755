package org.apache.spark.sql.springbok.stats.operator

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.springbok.stats.estimate.{ColumnStats, Estimate, WidenedColumn}

/** A projection keeps the rows, and the statistics of the columns that it passes on. */
private[operator] object ProjectStats {
  def apply(p: Project, child: Estimate): Estimate = {
    val known = columns(p.projectList, child)
    Estimate(child.rows, rowBytes(p.output, p.projectList, known, p.child.output, child), known)
  }

  /** Statistics of the columns that are passed on under the same or another name, or cast to a wider type. */
  def columns(list: Seq[NamedExpression], child: Estimate): AttributeMap[ColumnStats] =
    AttributeMap(list.flatMap {
      case a: Attribute => child.columns.get(a).map(a -> _)
      case a @ Alias(WidenedColumn(from), _) => child.columns.get(from).map(a.toAttribute -> _)
      case _ => None
    })

  /**
   * Bytes of a row of an operator's output. What was measured below and is not explained by the statistics of columns belongs
   * to values of variable length, and stays if one of those is passed on. A computed value of variable length is as
   * long as the values that it is computed of.
   *
   * @param list
   *   the expressions of the output
   * @param input
   *   the child's output
   */
  def rowBytes(
      output: Seq[Attribute],
      list: Seq[NamedExpression],
      columns: AttributeMap[ColumnStats],
      input: Seq[Attribute],
      child: Estimate
  ): Double =
    if (!Estimate.varies(output)) Estimate.rowBytes(output, columns)
    else
      Estimate.rowBytes(output, columns) + child
        .unexplainedBytes(input) + list.map(computedBytes(_, child)).sum

  /** By how many bytes a computed value is longer than its type's default size. */
  private def computedBytes(e: NamedExpression, child: Estimate): Double = e match {
    case Alias(_: Attribute, _) => 0
    case a: Alias if !UnsafeRow.isFixedLength(a.dataType) =>
      val known = a.references.toSeq.flatMap(child.columns.get(_)).flatMap(_.valueBytes).sum
      math.max(0, known - a.dataType.defaultSize)
    case _ => 0
  }
}

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
   * to values of variable length, and stays if one of those is passed on. Computed values of variable length are
   * together as long as what they are computed of.
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
    else Estimate.rowBytes(output, columns) + child.unexplainedBytes(input) + computedBytes(list, child)

  /** By how many bytes computed values are longer than their types' default sizes. Each source counts once: parts are taken of it. */
  private def computedBytes(list: Seq[NamedExpression], child: Estimate): Double = {
    val computed = list.collect {
      case a: Alias if !a.child.isInstanceOf[Attribute] && !UnsafeRow.isFixedLength(a.dataType) => a
    }
    val known =
      computed.flatMap(a => sources(a.child)).distinct.flatMap(child.columns.get(_)).flatMap(_.valueBytes)
    math.max(0, known.sum - computed.map(_.dataType.defaultSize).sum)
  }

  /** The columns whose values may be part of an expression's value: not those that a condition compares. */
  private def sources(e: Expression): Seq[Attribute] = e match {
    case a: Attribute => Seq(a)
    case _: Predicate => Nil
    case other => other.children.flatMap(sources)
  }
}

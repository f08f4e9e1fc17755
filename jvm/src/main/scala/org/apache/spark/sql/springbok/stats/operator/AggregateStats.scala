package org.apache.spark.sql.springbok.stats.operator

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, TypedImperativeAggregate}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Project}
import org.apache.spark.sql.springbok.stats.estimate.{
  ColumnStats,
  Estimate,
  Rows,
  Source,
  Uniqueness,
  WidenedColumn
}

/** An aggregate leaves one row for each combination of its grouping keys' values. */
private[springbok] object AggregateStats {
  def apply(a: Aggregate, child: Estimate): Estimate = {
    val columns = uniqueKey(a.groupingExpressions, ProjectStats.columns(a.aggregateExpressions, child))
    val rows =
      if (a.groupingExpressions.isEmpty) Some(Rows(1, 1, Source.Estimated))
      else child.rows.map(groups(a.groupingExpressions, child, _))
    val bytes = ProjectStats.rowBytes(a.output, a.aggregateExpressions, columns, a.child.output, child)
    val kept = if (a.aggregateExpressions.exists(keepsInput)) rows.flatMap(inputBytes(_, child)) else None
    Estimate(rows, kept.fold(bytes)(_ + bytes), columns).narrowed
  }

  /** Groups of partitions: a key is not unique, and no more rows are certain to go than none. */
  def local(a: Aggregate, retained: Double, child: Estimate): Estimate = {
    val columns = ProjectStats.columns(a.aggregateExpressions, child)
    val bytes = ProjectStats.rowBytes(a.output, a.aggregateExpressions, columns, a.child.output, child)
    val rows = child.rows.map(r => r.copy(value = r.value * retained, source = Source.Estimated))
    Estimate(rows, bytes, columns).narrowed
  }

  /** How many groups the rows of a plan have. */
  def groups(by: Seq[Expression], child: Estimate): Option[Rows] = child.rows.map(groups(by, child, _))

  /** Whether the value of a function may be as long as all of its input, as that of `collect_list` and of users' functions. */
  def keepsInput(e: Expression): Boolean = e.exists {
    case a: AggregateExpression =>
      a.aggregateFunction match {
        case f @ (_: TypedImperativeAggregate[?] | _: UserDefinedExpression) =>
          !UnsafeRow.isFixedLength(f.dataType)
        case _ => false
      }
    case _ => false
  }

  /** Bytes of the input for each group: all groups together hold no more than the input. */
  private def inputBytes(groups: Rows, child: Estimate): Option[Double] =
    for (bound <- child.boundBytes; most <- child.mostBytes)
      yield math.max(bound / math.max(1.0, groups.bound), most / math.max(1.0, groups.most))

  /** A single grouping key has each value once. */
  private def uniqueKey(
      grouping: Seq[Expression],
      columns: AttributeMap[ColumnStats]
  ): AttributeMap[ColumnStats] = grouping match {
    case Seq(key: Attribute) =>
      columns
        .get(key)
        .fold(columns)(c => AttributeMap(columns.toSeq :+ (key -> c.copy(uniqueness = Uniqueness.Proven))))
    case _ => columns
  }

  private def groups(grouping: Seq[Expression], child: Estimate, rows: Rows): Rows = {
    val keys = known(grouping, child)
    val counted = keys.forall(_.exists(child.counted(_).isDefined))
    // Unknown keys have no more groups than there are rows: half as many are expected.
    val expected = if (counted) rows else rows.copy(value = rows.value / 2, source = Source.Estimated)
    val (likely, most) =
      (combinations(keys, child, child.groups), combinations(keys, child, child.mostGroups))
    expected.atMost(most).copy(value = Seq(expected.value, likely, most).min)
  }

  /** The keys that are columns with statistics, None for the others. */
  def known(by: Seq[Expression], child: Estimate): Seq[Option[Attribute]] = by.map {
    case a: Attribute => child.columns.get(a).map(_ => a)
    case _ => None
  }

  /**
   * Most combinations of the keys' values. The columns of one table have no more combinations than the table has rows, and
   * one more where a join found no row.
   *
   * @param keys
   *   as [[known]] gives them
   * @param values
   *   how many values a column has
   */
  def combinations(
      keys: Seq[Option[Attribute]],
      child: Estimate,
      values: Attribute => Option[Double]
  ): Double =
    keys
      .groupBy(_.flatMap(a => child.columns(a).table.id))
      .map { case (table, columns) =>
        // A key without a value has one group, of null.
        val all =
          columns.map(_.flatMap(values).fold(Double.PositiveInfinity)(math.max(1.0, _))).product
        val rows = table.flatMap(_ => columns.flatten.map(child.columns(_).table.rows).maxOption)
        rows.fold(all)(n => math.min(all, n + 1))
      }
      .product
}

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

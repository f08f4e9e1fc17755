package org.apache.spark.sql.springbok.stats.operator

import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeMap,
  Expression,
  UnsafeRow,
  UserDefinedExpression
}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, TypedImperativeAggregate}
import org.apache.spark.sql.catalyst.plans.logical.Aggregate
import org.apache.spark.sql.springbok.stats.estimate.{ColumnStats, Estimate, Rows, Source, Uniqueness}

/** An aggregate leaves one row for each combination of its grouping keys' values. */
private[operator] object AggregateStats {
  def apply(a: Aggregate, child: Estimate): Estimate = {
    val columns = uniqueKey(a.groupingExpressions, ProjectStats.columns(a.aggregateExpressions, child))
    val rows =
      if (a.groupingExpressions.isEmpty) Some(Rows(1, 1, Source.Estimated))
      else child.rows.map(groups(a.groupingExpressions, child, _))
    val bytes = ProjectStats.rowBytes(a.output, a.aggregateExpressions, columns, a.child.output, child)
    val kept = if (a.aggregateExpressions.exists(keepsInput)) rows.flatMap(inputBytes(_, child)) else None
    Estimate(rows, kept.fold(bytes)(_ + bytes), columns).narrowed
  }

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
    val keys = grouping.map {
      case a: Attribute => child.columns.get(a).map(_ => a)
      case _ => None
    }
    val counted = keys.forall(_.exists(child.counted(_).isDefined))
    // Unknown keys have no more groups than there are rows: half as many are expected.
    val expected = if (counted) rows else rows.copy(value = rows.value / 2, source = Source.Estimated)
    val (likely, most) =
      (combinations(keys, child, child.groups), combinations(keys, child, child.mostGroups))
    expected.atMost(most).copy(value = Seq(expected.value, likely, most).min)
  }

  /**
   * Most combinations of the keys' values. The columns of one table have no more combinations than the table has rows, and
   * one more where a join found no row.
   */
  private def combinations(
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

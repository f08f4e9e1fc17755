package org.apache.spark.sql.springbok.report

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.{DataSourceStrategy, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, FileScan}
import org.apache.spark.sql.springbok.catalyst.{ExpressionLabel, FileTable, OfferedConditions}

/**
 * The query's own conditions on what a table's scan reads.
 *
 * @param partition
 *   on partition columns: other partitions are not read
 * @param pushed
 *   on other columns: the scan's reader, or its database, is told of them
 */
final private[report] case class ScanFilters(
    partition: Seq[Expression] = Nil,
    pushed: Seq[Expression] = Nil
) {
  def partitionLabels: Seq[String] = partition.map(ScanFilters.label)
  def pushedLabels: Seq[String] = pushed.map(ScanFilters.label)
}

private[report] object ScanFilters {

  /**
   * The conditions of each relation of an optimized plan. A physical scan has those that came from the keys of runtime filters
   * as well, and keys do not belong in a report.
   */
  final class Of(optimized: LogicalPlan) {
    private val found = new IdentityHashMap[LogicalPlan, ScanFilters]()

    // What is found first has all conditions above the relation.
    optimized.collectWithSubqueries {
      case PhysicalOperation(_, conditions, r) if r.children.isEmpty =>
        found.putIfAbsent(r, split(r, conditions))
    }: Unit

    def apply(r: LogicalPlan): ScanFilters = found.getOrDefault(r, ScanFilters())
  }

  private def split(r: LogicalPlan, conditions: Seq[Expression]): ScanFilters = r match {
    case s: DataSourceV2ScanRelation =>
      s.scan match {
        case f: FileScan => ScanFilters(f.partitionFilters, f.dataFilters)
        case _ => ScanFilters(pushed = taken(s, conditions))
      }
    case _ =>
      val columns = partitionColumns(r)
      val (partition, rest) = conditions
        .filter(_.references.nonEmpty)
        .partition(_.references.subsetOf(columns))
      val told = r.isInstanceOf[LogicalRelation]
      ScanFilters(partition, rest.filter(c => told && c.references.intersect(columns).isEmpty && pushable(c)))
  }

  /**
   * The conditions that a connector evaluates completely: they were offered to it, and Spark does not evaluate them any more. A
   * condition that Spark has changed since could be any of those with its columns.
   */
  private def taken(s: DataSourceV2ScanRelation, left: Seq[Expression]): Seq[Expression] = {
    val offered = OfferedConditions.of(s.relation).getOrElse(Nil)
    val changed = left.filterNot(l => offered.exists(_.semanticEquals(l)))
    offered.filterNot { o =>
      left.exists(_.semanticEquals(o)) || changed.exists(_.references.intersect(o.references).nonEmpty)
    }
  }

  private def partitionColumns(r: LogicalPlan): AttributeSet = r match {
    case FileTable(t, fs) =>
      val names = fs.partitionSchema.fieldNames.toSet
      AttributeSet(t.output.filter(a => names(a.name)))
    case h: HiveTableRelation => AttributeSet(h.partitionCols)
    case _ => AttributeSet.empty
  }

  /** Whether Spark can hand it to a source in the source's words. */
  private def pushable(e: Expression): Boolean =
    !SubqueryExpression.hasSubquery(e) &&
      DataSourceStrategy.translateFilter(e, supportNestedPredicatePushdown = true).isDefined

  private def label(e: Expression): String = e match {
    case d: DynamicPruning => s"dynamic pruning of ${d.references.map(_.name).mkString(", ")}"
    case other => Shown.plain(ExpressionLabel(other), mostCharacters)
  }

  private val mostCharacters = 300
}

package org.apache.spark.sql.springbok.stats.operator

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions.AttributeMap
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LocalRelation, LogicalPlan, Range, Statistics}
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.springbok.catalyst.{FileTable, ScanRows, SparkPlanning}
import org.apache.spark.sql.springbok.stats.estimate.{Estimate, Rows, Source}
import org.apache.spark.sql.springbok.stats.source.RelationStats

/** Tables and other leaves of a plan, but for query stages. */
private[operator] object LeafStats {
  def apply(leaf: LeafNode, relations: RelationStats, estimate: LogicalPlan => Estimate): Estimate =
    leaf match {
      case FileTable(r, fs) => relations.relation(r, fs)
      // Tables that are not files, such as Hive's, may have been analyzed.
      case r: LogicalRelation => relations.reported(r.output, r.stats, Source.Analyzed)
      case h: HiveTableRelation => relations.reported(h.output, h.stats, Source.Analyzed)
      case v: DataSourceV2ScanRelation => relations.reported(v.output, statistics(v), Source.Connector)
      case r: LogicalRDD => relations.reported(r.output, r.stats, Source.Estimated)
      case m: InMemoryRelation => cached(m, relations, estimate)
      case l: LocalRelation => counted(l, l.data.size.toDouble, Source.Runtime)
      case r: Range => counted(r, r.numElements.toDouble, Source.Analyzed)
      case _ => Estimate.unknown(leaf.output)
    }

  /** Spark 4.3 asks a connector for its rows only with `spark.sql.cbo.enabled`. */
  private def statistics(v: DataSourceV2ScanRelation): Statistics =
    v.stats.copy(rowCount = v.stats.rowCount.orElse(ScanRows(v.scan).map(BigInt(_))))

  private def counted(leaf: LeafNode, n: Double, source: Source): Estimate =
    Estimate(Some(Rows(n, n, source)), Estimate.rowBytes(leaf.output), AttributeMap.empty)

  /** A cached table is counted once its buffers are there. Before, it is as the plan that will fill them. */
  private def cached(
      m: InMemoryRelation,
      relations: RelationStats,
      estimate: LogicalPlan => Estimate
  ): Estimate = {
    def filled = SparkPlanning.cachedPlan(m).filter(_.output.size == m.output.size)
    if (m.cacheBuilder.isCachedColumnBuffersLoaded) relations.reported(m.output, m.stats, Source.Runtime)
    else
      filled.fold(relations.reported(m.output, m.stats, Source.Estimated)) { plan =>
        val e = estimate(plan)
        val renamed =
          plan.output.zip(m.output).flatMap { case (from, to) => e.columns.get(from).map(to -> _) }
        e.copy(columns = AttributeMap(renamed))
      }
  }
}

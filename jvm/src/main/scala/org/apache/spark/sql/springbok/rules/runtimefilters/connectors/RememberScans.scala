package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.catalyst.expressions.{Expression, PredicateHelper, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.datasources.DataSourceStrategy
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}
import org.apache.spark.sql.springbok.catalyst.{OfferedConditions, RuleGuard}
import org.apache.spark.sql.springbok.conf.SpringbokConf

/**
 * Remembers how the scans of a plan were built ([[ScanRecipe]]).
 *
 * '''When''': after Spark's push-down has built them, for each scan of a connector.
 *
 * '''Why the answer cannot change''': the plan stays as it is. A scan is built again only from a recipe that still fits it.
 *
 * '''Settings''': `spark.springbok.enabled` alone.
 */
object RememberScans extends Rule[LogicalPlan] {
  def apply(plan: LogicalPlan): LogicalPlan =
    if (!SpringbokConf.plans(conf) || plan.isStreaming) plan
    else
      RuleGuard("RememberScans", plan, None) {
        plan.foreach {
          case s: DataSourceV2ScanRelation if ScanRecipe.of(s.scan).isEmpty => remember(s)
          case _ =>
        }
        plan
      }

  /** The version is known if it is the same as before. */
  private def remember(s: DataSourceV2ScanRelation): Unit =
    for {
      filters <- OfferedConditions.of(s.relation)
      before <- s.relation.getTagValue(RememberScanFilters.version)
      known <- RebuildableTable.of(s.relation.table)
    } {
      val version = if (known.version(s.relation.table) == before) before else TableVersion.Unknown
      ScanRecipe.remember(s.scan, ScanRecipe(s.relation.table, s.relation.options, filters, version))
    }
}

/**
 * Remembers the filters that Spark is about to push to connectors, for scans that may be built again and for the report.
 *
 * '''When''': right before Spark's push-down, for each table of a connector.
 *
 * '''Why the answer cannot change''': the plan stays as it is, and what is remembered is proven against the scan before it is
 * used ([[ScanRecipe]]).
 *
 * '''Settings''': `spark.springbok.enabled` alone.
 */
object RememberScanFilters extends Rule[LogicalPlan] with PredicateHelper {

  /** The version that a relation's table has before its scan is built. */
  private[connectors] val version: TreeNodeTag[TableVersion] = TreeNodeTag[TableVersion]("springbok.version")

  def apply(plan: LogicalPlan): LogicalPlan =
    if (!SpringbokConf.plans(conf) || plan.isStreaming) plan
    else
      RuleGuard("RememberScanFilters", plan, None) {
        plan.foreach {
          case r: DataSourceV2Relation => remember(r, Nil)
          case _ =>
        }
        plan.foreach {
          case Filter(condition, r: DataSourceV2Relation) =>
            remember(r, splitConjunctivePredicates(condition))
          case _ =>
        }
        plan
      }

  private def remember(r: DataSourceV2Relation, filters: Seq[Expression]): Unit = {
    val pushed = DataSourceStrategy.normalizeExprs(filters, r.output)
    OfferedConditions.remember(r, pushed.filterNot(SubqueryExpression.hasSubquery))
    RebuildableTable.of(r.table).foreach(known => r.setTagValue(version, known.version(r.table)))
  }
}

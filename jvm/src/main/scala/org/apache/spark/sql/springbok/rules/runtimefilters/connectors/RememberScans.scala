package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.catalyst.expressions.{Expression, PredicateHelper, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.datasources.DataSourceStrategy
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}
import org.apache.spark.sql.springbok.catalyst.RuleGuard
import org.apache.spark.sql.springbok.conf.SpringbokConf

/**
 * Remembers the filters that Spark is about to push to connectors: what a connector evaluates completely is gone from the
 * plan afterwards. Runs right before Spark's push-down, and changes nothing in the plan.
 *
 * '''Why the answer cannot change''': what is remembered is proven against the scan before it is used ([[ScanRecipe]]).
 */
object RememberScanFilters extends Rule[LogicalPlan] with PredicateHelper {

  /** What is pushed to a relation, and the version that its table has before. */
  final private[connectors] case class Pushed(filters: Seq[Expression], version: TableVersion)

  private[connectors] val tag: TreeNodeTag[Pushed] = TreeNodeTag[Pushed]("springbok.pushed")

  def apply(plan: LogicalPlan): LogicalPlan =
    if (!conf.getConf(SpringbokConf.ENABLED) || plan.isStreaming) plan
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

  private def remember(r: DataSourceV2Relation, filters: Seq[Expression]): Unit =
    RebuildableTable.of(r.table).foreach { known =>
      val pushed = DataSourceStrategy.normalizeExprs(filters, r.output)
      r.setTagValue(tag, Pushed(pushed.filterNot(SubqueryExpression.hasSubquery), known.version(r.table)))
    }
}

/**
 * Remembers how the scans of a plan were built. Runs after Spark's push-down, when the scans are there and planned, and changes
 * nothing in the plan.
 */
object RememberScans extends Rule[LogicalPlan] {
  def apply(plan: LogicalPlan): LogicalPlan =
    if (!conf.getConf(SpringbokConf.ENABLED) || plan.isStreaming) plan
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
      pushed <- s.relation.getTagValue(RememberScanFilters.tag)
      known <- RebuildableTable.of(s.relation.table)
    } {
      val version = known.version(s.relation.table)
      ScanRecipe.remember(
        s.scan,
        ScanRecipe(
          s.relation.table,
          s.relation.options,
          pushed.filters,
          if (version == pushed.version) version else TableVersion.Unknown
        )
      )
    }
}

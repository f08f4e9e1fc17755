package org.apache.spark.sql.springbok.rules.runtimefilters.resolve

import org.apache.spark.sql.catalyst.expressions.{ScalarSubquery => _, _}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.springbok.{
  AppliedRuntimeFilterExec,
  BroadcastBoundExec,
  BroadcastRange,
  FilterInfo
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterType}
import org.apache.spark.sql.springbok.keys.{FilterKey, KeyType, SourceKey}
import org.apache.spark.sql.springbok.record.BuildFacts
import org.apache.spark.sql.springbok.rules.runtimefilters.place.{Pending, PlaceRuntimeFilters, Target}

/**
 * Runtime filters where adaptive execution is off: then no stage has finished before another is planned, but broadcasts
 * are made before the scans of their joins begin. The range of a broadcast's keys becomes a pair of scalar subqueries that
 * read the join's own relation, and Spark hands the scan their values when it starts.
 *
 * {{{
 *   BroadcastHashJoin ss_sold_date_sk = d_date_sk     BroadcastHashJoin ss_sold_date_sk = d_date_sk
 *   :- Scan store_sales                               :- RuntimeFilter RF000[minmax] -> ss_sold_date_sk
 *   +- BroadcastExchange                         =>   :  +- Scan store_sales, ss_sold_date_sk >= Subquery SmallestKey, <= LargestKey
 *      +- Scan date_dim                               +- BroadcastExchange     (what the subqueries read, too)
 *                                                        +- Scan date_dim
 * }}}
 *
 * '''When''': as [[PlaceRuntimeFilters]] says, from broadcast joins to scans in their own stages, where the scan cannot
 * be part of an exchange that another part of the query reads as well, and to columns that are whole numbers inside, and
 * no partition columns, which Spark prunes by itself.
 *
 * '''Why the answer cannot change''': as there; the scan may skip rows whose key is null or outside of the range of all
 * keys. The relation is read once it is complete, and the bounds are rounded away from each other where the column's type
 * cannot hold them.
 *
 * '''Settings''': `spark.springbok.runtimeFilter.*`.
 */
object PlaceStaticFilters extends Rule[SparkPlan] {
  def apply(plan: SparkPlan): SparkPlan =
    if (conf.adaptiveExecutionEnabled) plan else PlaceRuntimeFilters.placed(plan, adaptive = false)

  /** In the session's columnar rules, which run on a whole plan before exchanges are reused. */
  object Hook extends ColumnarRule {
    override def preColumnarTransitions: Rule[SparkPlan] = PlaceStaticFilters
  }

  /** Whether the range of a broadcast's keys can be pushed there. */
  private[springbok] def reaches(t: Target, key: SourceKey, conf: SQLConf): Boolean = {
    val scan = t.at.collectLeaves().headOption.collect { case s: FileSourceScanExec => s }
    conf.getConf(FilterConf.TYPES).contains(FilterType.MinMax) && key.isInstanceOf[SourceKey.Broadcast] &&
    t.sameStage && !t.grouped && FilterKey.column(t.key).exists { a =>
      KeyType.isLong(a.dataType) && KeyType.isLong(t.key.dataType) &&
      scan.exists(!ScanPruning.byPartition(_, a, conf))
    }
  }

  /** The scan with the range pushed to it, and the operator that stands for the filter. */
  private[springbok] def applied(p: Pending, scan: SparkPlan, info: FilterInfo): SparkPlan =
    (p.sourceKey, FilterKey.column(p.key)) match {
      case (key: SourceKey.Broadcast, Some(column)) =>
        val (range, source) = (new BroadcastRange(key, info.record), executable(p.source))
        def bound(largest: Boolean): Expression = {
          val output = AttributeReference(info.record.sourceKey, column.dataType)()
          ScalarSubquery(BroadcastBoundExec(key, largest, output, source)(range), NamedExpression.newExprId)
        }
        val predicate = And(GreaterThanOrEqual(column, bound(false)), LessThanOrEqual(column, bound(true)))
        // A subquery that another filter has as well runs once, for one of them.
        info.record.use(Seq("minmax"), BuildFacts.unknown)
        val pushed = Pushed("minmax", predicate, partition = false, None).into(scan)
        AppliedRuntimeFilterExec(key, p.key, None, p.source.canonicalized, pushed)(info)
      case _ => scan
    }

  /** The exchange as it will be in the plan, so that the two are one. */
  private def executable(exchange: SparkPlan): SparkPlan = {
    val others = SparkSession.active.sessionState.columnarRules.filterNot(_ eq Hook)
    val rows = ApplyColumnarRulesAndInsertTransitions(others, outputsColumnar = false)(exchange)
    CollapseCodegenStages()(rows)
  }
}

package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.expressions.{ScalarSubquery => _, _}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.springbok.{
  AppliedRuntimeFilterExec,
  BroadcastBoundExec,
  BroadcastRange,
  FilterInfo
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.OtherColumnarRules
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterType}
import org.apache.spark.sql.springbok.keys.{FilterKey, KeyType, SourceKey}
import org.apache.spark.sql.springbok.record.BuildFacts
import org.apache.spark.sql.springbok.rules.runtimefilters.{PushedFilter, PushWay}
import org.apache.spark.sql.springbok.rules.runtimefilters.connectors.{
  FilePruning,
  ParquetPages,
  PrunableColumns,
  ShiftedDays
}
import org.apache.spark.sql.springbok.stats.source.Footers

/** One filter of [[PlaceStaticFilters]]: the range of a broadcast's keys. */
private[place] object StaticFilter {

  /** Whether the range of a broadcast's keys can be pushed there. */
  def reaches(t: Target, key: SourceKey, conf: SQLConf): Boolean = {
    val scan = t.at.collectLeaves().headOption.collect { case s: FileSourceScanExec => s }
    conf.getConf(FilterConf.TYPES).contains(FilterType.MinMax) && key.isInstanceOf[SourceKey.Broadcast] &&
    t.sameStage && !t.grouped && FilterKey.column(t.key).exists { a =>
      KeyType.isLong(a.dataType) && KeyType.isLong(t.key.dataType) &&
      scan.exists { s =>
        ParquetPages.option(s).isEmpty && !PrunableColumns
          .partitions(s, a, conf) && !ShiftedDays.in(s, a, conf) &&
        FilePruning.comparable(s, a, Footers.read(s.relation))
      }
    }
  }

  /** The scan with the range pushed to it, and the operator that stands for the filter. */
  def applied(f: PendingFilter, scan: SparkPlan, info: FilterInfo): SparkPlan =
    (f.sourceKey, FilterKey.column(f.key)) match {
      case (key: SourceKey.Broadcast, Some(column)) =>
        val (range, source) = (new BroadcastRange(key, info.record), executable(f.source))
        def bound(largest: Boolean): Expression = {
          val output = AttributeReference(info.record.sourceKey, column.dataType)()
          ScalarSubquery(BroadcastBoundExec(key, largest, output, source)(range), NamedExpression.newExprId)
        }
        val predicate = And(GreaterThanOrEqual(column, bound(false)), LessThanOrEqual(column, bound(true)))
        // A subquery that two filters have in common runs once, for one of them.
        info.record.use(Seq("minmax"), BuildFacts.unknown)
        val pushed = PushedFilter("minmax", predicate, PushWay.FileData()).into(scan)
        AppliedRuntimeFilterExec(key, f.key, None, f.source.canonicalized, pushed)(info)
      case _ => scan
    }

  /** The exchange as it will be in the plan, so that Spark runs it once. */
  private def executable(exchange: SparkPlan): SparkPlan = {
    val others = OtherColumnarRules.all
    val rows = ApplyColumnarRulesAndInsertTransitions(others, outputsColumnar = false)(exchange)
    CollapseCodegenStages()(rows)
  }
}

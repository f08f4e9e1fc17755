package org.apache.spark.sql.springbok.filter

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.springbok.{
  AppliedRuntimeFilterExec,
  RuntimeFilterExec,
  SummarizeKeysExec
}
import org.apache.spark.sql.execution.window.{WindowExec, WindowGroupLimitExec}
import org.apache.spark.sql.springbok.OrderDependent

/**
 * Whether computing a build side again gives the same rows. Known operators with expressions that depend on no order do;
 * limits, samples, user code and `first` may not, so a lost and recomputed stage could hold keys that the filter has never
 * seen.
 *
 * Joins ask for it one above the other, and edges stand in several places, so what was found of a node is kept: one
 * instance serves one planning.
 */
final private[filter] class Determinism {
  private val known = new IdentityHashMap[SparkPlan, Boolean]()

  def apply(plan: SparkPlan): Boolean = {
    if (!known.containsKey(plan))
      known.put(
        plan,
        Determinism.known(plan) && !plan.expressions.exists(OrderDependent(_)) &&
          Determinism.inner(plan).forall(apply)
      ): Unit
    known.get(plan)
  }
}

private object Determinism {
  private def known(plan: SparkPlan): Boolean = plan match {
    case _: FileSourceScanExec | _: LocalTableScanExec | _: RangeExec | _: FilterExec | _: ProjectExec |
        _: BaseAggregateExec | _: BaseJoinExec | _: SortExec | _: UnionExec | _: ExpandExec |
        _: ShuffleExchangeExec | _: BroadcastExchangeExec | _: WholeStageCodegenExec | _: InputAdapter |
        _: ColumnarToRowExec | _: SummarizeKeysExec | _: RuntimeFilterExec | _: BatchScanExec |
        _: AdaptiveSparkPlanExec | _: TableCacheQueryStageExec | _: InMemoryTableScanExec |
        _: AppliedRuntimeFilterExec | _: AQEShuffleReadExec | _: QueryStageExec | _: ReusedExchangeExec =>
      true
    case w: WindowExec => w.windowExpression.forall(sameInAnyOrder)
    case w: WindowGroupLimitExec => !w.rankLikeFunction.isInstanceOf[RowNumber]
    case _ => false
  }

  private def inner(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case q: QueryStageExec => Seq(q.plan)
    case a: AdaptiveSparkPlanExec => Seq(a.inputPlan)
    // Blocks that are lost are computed again.
    case m: InMemoryTableScanExec => Seq(m.relation.cachedPlan)
    case r: ReusedExchangeExec => Seq(r.child)
    case p => p.children
  }

  /**
   * Whether a window's functions give rows that tie in its order the same values, whichever comes first: `rank` and
   * aggregates over a range do, `row_number` and `lag` do not.
   */
  private def sameInAnyOrder(e: Expression): Boolean =
    e.collect { case w: WindowExpression => w }.forall { w =>
      w.windowFunction match {
        case _: Rank | _: DenseRank | _: PercentRank | _: CumeDist => true
        case _: AggregateExpression =>
          w.windowSpec.frameSpecification match {
            case SpecifiedWindowFrame(RangeFrame, _, _) => true
            case SpecifiedWindowFrame(RowFrame, UnboundedPreceding, UnboundedFollowing) => true
            case _ => false
          }
        case _ => false
      }
    }
}

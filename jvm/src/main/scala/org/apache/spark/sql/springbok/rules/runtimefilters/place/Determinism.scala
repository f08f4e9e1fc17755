package org.apache.spark.sql.springbok.rules.runtimefilters.place

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.springbok.{
  AppliedRuntimeFilterExec,
  BuildSideExec,
  NoRowsExec,
  RuntimeFilterExec,
  SummarizeKeysExec
}
import org.apache.spark.sql.execution.window.{WindowExec, WindowGroupLimitExec}
import org.apache.spark.sql.springbok.catalyst.{
  HiveScan,
  OrderDependent,
  PairwiseJoin,
  PlanInputs,
  SameInAnyOrder
}

/**
 * Whether a build side that is computed again has the same rows. Known operators do, if their expressions do not depend on the
 * order of rows. Limits, samples, user code and `first` may not: a lost and recomputed stage could hold keys that the filter
 * has never seen.
 *
 * Most aggregates, except counts and exact sums, may differ if the rows come in another order; a sum of floating-point
 * numbers may differ in its last digits. Such a column is loose. It may be carried along, but no row or key may depend on it.
 *
 * Joins that stand above each other ask about the same nodes, and so do the copies in filter dependencies. So the answers are
 * cached: one instance serves one planning.
 */
final private[springbok] class Determinism {
  import Determinism._
  private val seen = new IdentityHashMap[SparkPlan, Option[AttributeSet]]()

  /** Whether the rows and these keys are the same each time. */
  def apply(plan: SparkPlan, keys: Seq[Expression] = Nil): Boolean =
    loose(plan).exists(columns => !readsAny(keys, columns))

  /** The loose columns, None if the rows may differ. */
  private def loose(plan: SparkPlan): Option[AttributeSet] = {
    if (!seen.containsKey(plan)) {
      val same = known(plan) && !plan.expressions.exists(OrderDependent(_))
      seen.put(plan, if (same) below(plan).flatMap(above(plan, _)) else None): Unit
    }
    seen.get(plan)
  }

  /** The loose columns of all inputs, None if the rows of one may differ. */
  private def below(plan: SparkPlan): Option[AttributeSet] =
    PlanInputs.of(plan).foldLeft(Option(AttributeSet.empty)) { (all, input) =>
      all.flatMap(columns => loose(input).map(columns ++ _))
    }
}

private[sql] object Determinism {
  private def readsAny(es: Seq[Expression], columns: AttributeSet): Boolean =
    columns.nonEmpty && es.exists(_.references.exists(columns.contains))

  /** Loose columns of an operator's output, from those of its inputs; None if its rows depend on them. */
  private def above(plan: SparkPlan, in: AttributeSet): Option[AttributeSet] = plan match {
    case a: BaseAggregateExec if !readsAny(a.groupingExpressions, in) =>
      val results =
        a.aggregateExpressions
          .filter(e => !SameInAnyOrder(e.aggregateFunction) || readsAny(Seq(e), in))
          .flatMap { e =>
            e.resultAttribute +: (e.aggregateFunction.aggBufferAttributes ++ e.aggregateFunction.inputAggBufferAttributes)
          }
      Some(computed(a.resultExpressions, in ++ AttributeSet(results)))
    case p: ProjectExec => Some(computed(p.projectList, in))
    case _ if in.isEmpty => Some(in)
    case u: UnionExec =>
      val out = u.output
      Some(AttributeSet(u.children.flatMap(c => renamed(c.output, out, in))))
    case r: ReusedExchangeExec => Some(AttributeSet(renamed(r.child.output, r.output, in)))
    case m: InMemoryTableScanExec =>
      Some(AttributeSet(renamed(m.relation.cachedPlan.output, m.relation.output, in)))
    case _ => Option.when(!readsAny(plan.expressions, in))(in)
  }

  private def isOfSpark(g: Generator): Boolean = g match {
    case _: ExplodeBase | _: Inline | _: Stack => true
    case _ => false
  }

  private def renamed(from: Seq[Attribute], to: Seq[Attribute], loose: AttributeSet): Seq[Attribute] =
    from.zip(to).collect { case (a, b) if loose.contains(a) => b }

  private def computed(list: Seq[NamedExpression], loose: AttributeSet): AttributeSet =
    AttributeSet(list.filter(e => readsAny(Seq(e), loose)).map(_.toAttribute))

  private def known(plan: SparkPlan): Boolean = plan match {
    case _: FileSourceScanExec | _: LocalTableScanExec | _: RangeExec | _: FilterExec | _: ProjectExec |
        _: BaseAggregateExec | PairwiseJoin(_) | _: SortExec | _: UnionExec | _: ExpandExec |
        _: ShuffleExchangeExec | _: BroadcastExchangeExec | _: WholeStageCodegenExec | _: InputAdapter |
        _: ColumnarToRowExec | _: SummarizeKeysExec | _: RuntimeFilterExec | _: BatchScanExec |
        _: AdaptiveSparkPlanExec | _: TableCacheQueryStageExec | _: InMemoryTableScanExec |
        _: AppliedRuntimeFilterExec | _: BuildSideExec | _: NoRowsExec | _: AQEShuffleReadExec |
        _: QueryStageExec | _: ReusedExchangeExec =>
      true
    case HiveScan(table) => HiveScan.ofFiles(table)
    // Which rows lie in one partition may differ.
    case _: CoalesceExec => true
    case g: GenerateExec => isOfSpark(g.generator)
    case w: WindowExec => w.windowExpression.forall(SameInAnyOrder.inWindow)
    case w: WindowGroupLimitExec => !w.rankLikeFunction.isInstanceOf[RowNumber]
    case _ => false
  }
}

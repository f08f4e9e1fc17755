package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, DynamicPruningSubquery, Expression}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.optimizer.{BuildSide, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Join, LogicalPlan, UnresolvedHint}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{LocalTableScanExec, SparkPlan, SubqueryAdaptiveBroadcastExec}
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.apache.spark.sql.internal.SQLConf

/** Planning, where versions of Spark differ. */
object SparkPlanning extends JoinSelectionHelper {

  /** A plan that gives these rows. */
  def localTable(output: Seq[Attribute], rows: Seq[InternalRow]): SparkPlan =
    LocalTableScanExec(output, rows, None)

  /** Runs a rule where Spark resolves hints. */
  def injectHintRule(e: SparkSessionExtensions, rule: Rule[LogicalPlan]): Unit =
    e.injectHintResolutionRule(_ => rule)

  /** The side that Spark broadcasts, by hints or by size. */
  def broadcastSide(j: Join, hintOnly: Boolean, conf: SQLConf): Option[BuildSide] =
    getBroadcastBuildSide(j, hintOnly, conf)

  /** Whether Spark can aggregate these functions, with these buffers, by hashing. */
  def hashes(a: Aggregate, functions: Seq[AggregateExpression], buffers: Seq[Attribute]): Boolean =
    Aggregate.supportsHashAggregate(buffers, a.groupingExpressions) ||
      Aggregate.supportsObjectHashAggregate(functions, a.groupingExpressions)

  /** The keys of the broadcast that dynamic partition pruning reads. */
  def pruningKeys(b: SubqueryAdaptiveBroadcastExec): Seq[Expression] = b.indices.map(b.buildKeys(_))

  /** The keys of the build side whose values prune partitions. */
  def pruningKeys(d: DynamicPruningSubquery): Seq[Expression] = d.broadcastKeyIndices.map(d.buildKeys(_))

  /** Whether the tasks of the exchange have been submitted. */
  def isSubmitted(e: ShuffleExchangeLike): Boolean = e.futureAction.get.isDefined

  def hintParameters(h: UnresolvedHint): Seq[Expression] = h.parameters

  /** Whether all that the node stands for has run. */
  def isMaterialized(s: LogicalQueryStage): Boolean = s.isMaterialized

  /** The plan that fills a cached table. */
  def cachedPlan(m: InMemoryRelation): Option[LogicalPlan] = Option(m.cacheBuilder.logicalPlan)
}

package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, DynamicPruningSubquery, Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.optimizer.{BuildSide, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Join, LogicalPlan, UnresolvedHint}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{LocalTableScanExec, SparkPlan, SubqueryAdaptiveBroadcastExec}
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage, QueryStageExec}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.apache.spark.sql.internal.SQLConf

/** Planning, where versions of Spark differ. */
object SparkPlanning extends JoinSelectionHelper {

  /** A plan that gives these rows. */
  def localTable(output: Seq[Attribute], rows: Seq[InternalRow]): SparkPlan =
    LocalTableScanExec(output, rows)

  /** Runs a rule where Spark resolves hints. */
  def injectHintRule(e: SparkSessionExtensions, rule: Rule[LogicalPlan]): Unit =
    e.injectResolutionRule(_ => rule)

  /** The side that Spark broadcasts, by hints or by size. */
  def broadcastSide(j: Join, hintOnly: Boolean, conf: SQLConf): Option[BuildSide] =
    getBroadcastBuildSide(j.left, j.right, j.joinType, j.hint, hintOnly, conf)

  /** Whether Spark can aggregate these functions, with these buffers, by hashing. */
  def hashes(a: Aggregate, functions: Seq[AggregateExpression], buffers: Seq[Attribute]): Boolean =
    Aggregate.supportsHashAggregate(buffers) ||
      Aggregate.supportsObjectHashAggregate(functions)

  /** The keys of the broadcast that dynamic partition pruning reads. */
  def pruningKeys(b: SubqueryAdaptiveBroadcastExec): Seq[Expression] = Seq(b.buildKeys(b.index))

  /** The keys of the build side whose values prune partitions. */
  def pruningKeys(d: DynamicPruningSubquery): Seq[Expression] = Seq(d.buildKeys(d.broadcastKeyIndex))

  /** Whether the tasks of the exchange have been submitted: this version does not tell, and nobody waits for it. */
  def isSubmitted(e: ShuffleExchangeLike): Boolean = true

  def hintParameters(h: UnresolvedHint): Seq[Expression] = h.parameters.map {
    case e: Expression => e
    case other => Literal(other)
  }

  /** Whether all that the node stands for has run. */
  def isMaterialized(s: LogicalQueryStage): Boolean =
    s.physicalPlan.collectFirst { case q: QueryStageExec => q.isMaterialized }.getOrElse(false)

  /** The plan that fills a cached table: this version does not remember it. */
  def cachedPlan(m: InMemoryRelation): Option[LogicalPlan] = None
}

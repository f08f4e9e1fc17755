package org.apache.spark.sql.execution.springbok

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.ExchangeQueryStageExec
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.springbok.catalyst.{ExpressionLabel, PrintedAs, RowFilter}
import org.apache.spark.sql.springbok.cost.FilterCost
import org.apache.spark.sql.springbok.keys.SourceKey
import org.apache.spark.sql.springbok.physical.LateFilter
import org.apache.spark.sql.springbok.record.{FilterRecord, PlanningState}
import org.apache.spark.sql.types.DataType

/**
 * A runtime filter that waits for its build side: a filter dependency of the scan's stage. `source` is the same exchange as
 * the one below the join, so adaptive execution runs it once, before the stage of this scan. Then the filter is decided and
 * this node becomes an [[AppliedRuntimeFilterExec]]. If that does not happen, the node passes every row. If the scan's stage is
 * the one of a broadcast join, it waits for the broadcast anyway, and `source` is a [[JoinedBuildSideExec]].
 *
 * {{{
 *   RuntimeFilter RF000 -> l_orderkey
 *   :- Scan parquet lineitem
 *   +- Exchange hashpartitioning(o_orderkey)      (not printed: it stands under the join)
 * }}}
 */
case class RuntimeFilterExec(sourceKey: SourceKey, key: Expression, child: SparkPlan, source: SparkPlan)(
    @transient val info: FilterInfo
) extends BinaryExecNode
    with RowFilter
    with PrintedAs {

  /** Whether its scan waits for a build side that its stage would not wait for otherwise. */
  def waits: Boolean = !source.isInstanceOf[JoinedBuildSideExec]

  override def left: SparkPlan = child
  override def right: SparkPlan = source
  override protected def otherCopyArgs: Seq[AnyRef] = info :: Nil
  override def nodeName: String = "RuntimeFilter"
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override protected def doExecute(): RDD[InternalRow] = child.execute()

  // A copy on an executor, or a canonical one, has no record.
  private def label: String = s"${Option(info).fold("RF")(_.record.id)} -> ${ExpressionLabel(key)}"
  override def simpleString(maxFields: Int): String = s"$nodeName $label"
  override def verboseStringWithOperatorId(): String = s"$formattedNodeName\n$label\n"

  // Equal plans must agree whatever the numbers of their filters are.
  override protected def doCanonicalize(): SparkPlan = RuntimeFilterExec(
    sourceKey,
    QueryPlan.normalizeExpressions(Option(info).fold(key)(_.identity(key)), child.output),
    child.canonicalized,
    source.canonicalized
  )(null)

  /** EXPLAIN goes this way: the build side's operators are numbered and shown under their join, not here once more. */
  override def foreachUp(f: SparkPlan => Unit): Unit = {
    child.foreachUp(f)
    f(this)
  }

  // As a node with one child: the build side is printed where it belongs, under its join.
  override protected def printedAs(maxFields: Int): SparkPlan =
    RuntimeFilterLine(simpleString(maxFields), child)

  override protected def withNewChildrenInternal(newLeft: SparkPlan, newRight: SparkPlan): RuntimeFilterExec =
    copy(child = newLeft, source = newRight)(info)
}

/**
 * In place of a broadcast that the join in the scan's own stage reads: adaptive execution must not find the same exchange a
 * second time, because a failure of the broadcast would be reported twice, as another error than Spark's. It is never run.
 *
 * @param exchange
 *   the broadcast under the join
 */
case class JoinedBuildSideExec(@transient exchange: SparkPlan) extends LeafExecNode {
  override def nodeName: String = "JoinedBuildSide"
  override def output: Seq[Attribute] = Nil
  override def simpleString(maxFields: Int): String = nodeName
  override protected def doExecute(): RDD[InternalRow] = sparkContext.emptyRDD
  override protected def doCanonicalize(): SparkPlan = exchange.canonicalized

  /** The stage in which the broadcast has run, among the operators of the scan's stage. */
  def stage(plan: SparkPlan): Option[ExchangeQueryStageExec] = plan.collectFirst {
    case s: ExchangeQueryStageExec if s.canonicalized == canonicalized => s
  }
}

object JoinedBuildSideExec {

  /** A broadcast that has been started is what adaptive execution finds only once. */
  def of(exchange: SparkPlan): SparkPlan = exchange match {
    case e: Exchange => JoinedBuildSideExec(e)
    case stage => stage
  }
}

/** How a [[RuntimeFilterExec]] is printed. */
final private case class RuntimeFilterLine(line: String, child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override protected def doExecute(): RDD[InternalRow] = child.execute()
  override def simpleString(maxFields: Int): String = line
  override def verboseString(maxFields: Int): String = line
  override def simpleStringWithNodeId(): String = line
  override protected def withNewChildInternal(newChild: SparkPlan): RuntimeFilterLine = copy(child = newChild)
}

/**
 * What is known of a filter when it is placed. Only `grouped` is part of the plan's identity.
 *
 * @param domain
 *   distinct values that the probe side's key takes, None if unknown
 * @param saving
 *   what a removed row saves between scan and join
 * @param hinted
 *   whether the query asks for it by a hint
 * @param pushable
 *   whether the scan may be told of it: nothing else reads by the same one
 * @param grouped
 *   whether rows are grouped between scan and join: then rows of a group must go together, or what is computed of the
 *   rest of a group that has no match might raise an error that the whole group does not
 * @param local
 *   whether the scan is in the stage of the broadcast join that the filter is of
 * @param late
 *   the filter as one that the scan does not wait for, if it is one
 */
final case class FilterInfo(
    query: PlanningState,
    record: FilterRecord,
    domain: Option[Double],
    saving: FilterCost.Saving,
    minRejection: Double,
    hinted: Boolean = false,
    pushable: Boolean = true,
    grouped: Boolean = false,
    local: Boolean = false,
    late: Option[LateFilter] = None
) {

  /** The key in the plan's canonical form: a scan whose groups stay whole is another one than a scan that may leave a part. */
  def identity(key: Expression): Expression = if (grouped) WholeGroups(key) else key
}

/** A key whose rows are all tested, in canonical forms. */
final private case class WholeGroups(child: Expression) extends UnaryExpression with Unevaluable {
  override def dataType: DataType = child.dataType
  override protected def withNewChildInternal(newChild: Expression): WholeGroups = copy(newChild)
}

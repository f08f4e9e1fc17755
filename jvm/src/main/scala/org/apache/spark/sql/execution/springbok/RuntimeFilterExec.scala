package org.apache.spark.sql.execution.springbok

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution._
import org.apache.spark.sql.springbok.catalyst.{ExpressionLabel, PrintedAs, RowFilter}
import org.apache.spark.sql.springbok.keys.{SourceKey, TriedKey}
import org.apache.spark.sql.springbok.physical.{LateContains, LateFilter}
import org.apache.spark.sql.springbok.record.RuntimeFilter
import org.apache.spark.sql.types.DataType

/**
 * A runtime filter that waits for its build side. `source` is the stage of the exchange below the join, or stands for the
 * exchange as long as there is no stage. Once the stage has finished, the filter is decided and this node becomes an
 * [[AppliedRuntimeFilterExec]]. If that does not happen, the node passes every row.
 *
 * {{{
 *   RuntimeFilter RF000 -> l_orderkey
 *   :- Scan parquet lineitem
 *   +- FilterDependency            (not printed: the build side stands under the join)
 * }}}
 */
case class RuntimeFilterExec(sourceKey: SourceKey, key: Expression, child: SparkPlan, source: SparkPlan)(
    @transient val filter: RuntimeFilter
) extends BinaryExecNode
    with RowFilter
    with PrintedAs {

  /** Whether its scan waits for a build side that its stage would not wait for otherwise. */
  def waits: Boolean = !source.isInstanceOf[JoinedBuildSideExec]

  override def left: SparkPlan = child
  override def right: SparkPlan = source
  override protected def otherCopyArgs: Seq[AnyRef] = filter :: Nil
  override def nodeName: String = "RuntimeFilter"
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override protected def doExecute(): RDD[InternalRow] = child.execute()

  // A copy on an executor, or a canonical one, has no record.
  private def label: String = s"${Option(filter).fold("RF")(_.id)} -> ${ExpressionLabel(key)}"
  override def simpleString(maxFields: Int): String = s"$nodeName $label"
  override def verboseStringWithOperatorId(): String = s"$formattedNodeName\n$label\n"

  // Equal plans must agree whatever the numbers of their filters are.
  override protected def doCanonicalize(): SparkPlan = RuntimeFilterExec(
    sourceKey,
    QueryPlan.normalizeExpressions(WholeGroups.identity(filter, key), child.output),
    child.canonicalized,
    BuildSideExec.of(source).canonicalized
  )(null)

  /** EXPLAIN goes this way: the build side is shown under its join. */
  override def foreachUp(f: SparkPlan => Unit): Unit = {
    child.foreachUp(f)
    f(this)
  }

  // As a node with one child.
  override protected def printedAs(maxFields: Int): SparkPlan =
    RuntimeFilterLine(simpleString(maxFields), child)

  /** The same filter, for a scan that does not wait for it. */
  def late(keys: LateFilter): AppliedRuntimeFilterExec = {
    val test = Some(TriedKey.passing(key, LateContains(key, keys)))
    val build = BuildSideExec.of(source).canonicalized
    val f = AppliedRuntimeFilterExec(sourceKey, key, test, build, child)(filter)
    f.copyTagsFrom(this)
    f
  }

  override protected def withNewChildrenInternal(newLeft: SparkPlan, newRight: SparkPlan): RuntimeFilterExec =
    copy(child = newLeft, source = newRight)(filter)
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

/** A key whose rows are all tested, in canonical forms. */
final private case class WholeGroups(child: Expression) extends UnaryExpression with Unevaluable {
  override def dataType: DataType = child.dataType
  override protected def withNewChildInternal(newChild: Expression): WholeGroups = copy(newChild)
}

private object WholeGroups {

  /** The key of a filter in canonical forms: a scan whose groups stay whole is another one than a scan that may leave a part. */
  def identity(filter: RuntimeFilter, key: Expression): Expression =
    if (filter != null && filter.grouped) WholeGroups(key) else key
}

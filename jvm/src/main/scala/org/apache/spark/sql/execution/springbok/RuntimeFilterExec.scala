package org.apache.spark.sql.execution.springbok

import java.util.{ArrayList => JArrayList}

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, FileScan}
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.springbok.cost.FilterCost
import org.apache.spark.sql.springbok.keys.FilterKey
import org.apache.spark.sql.springbok.physical.{LateContains, LateFilter}
import org.apache.spark.sql.springbok.record.{FilterRecord, QueryRecord}
import org.apache.spark.sql.springbok.rules.runtimefilters.place.Determinism
import org.apache.spark.sql.types.DataType

/** Which of the build side's keys a filter takes, and where from. */
sealed trait SourceKey
object SourceKey {

  /** Key `index` of a broadcast relation with keys of these types. */
  final case class Broadcast(index: Int, types: Seq[DataType]) extends SourceKey

  /** A key that a [[SummarizeKeysExec]] under the exchange summarizes. */
  final case class Shuffle(key: BuildKey) extends SourceKey

  /** The largest or the smallest value of a key that is compared and not equated, of a summary or of broadcast rows. */
  final case class Bound(key: BuildKey, comparison: Comparison) extends SourceKey
}

/**
 * `probe < build` and its kin.
 *
 * @param below
 *   whether the probe side's value has to be below a value of the build side, and so below the largest, else above
 * @param orEqual
 *   whether it may be equal to it
 */
final case class Comparison(below: Boolean, orEqual: Boolean) {
  def kind: String = if (below) "max" else "min"

  /** The same with its sides exchanged. */
  def turned: Comparison = copy(below = !below)

  def predicate(probe: Expression, bound: Expression): Expression = (below, orEqual) match {
    case (true, true) => LessThanOrEqual(probe, bound)
    case (true, false) => LessThan(probe, bound)
    case (false, true) => GreaterThanOrEqual(probe, bound)
    case (false, false) => GreaterThan(probe, bound)
  }

  /** Whether no value from `min` to `max` has a match. */
  def refuses(min: Double, max: Double, bound: Double): Boolean = (below, orEqual) match {
    case (true, true) => min > bound
    case (true, false) => min >= bound
    case (false, true) => max < bound
    case (false, false) => max <= bound
  }
}

/**
 * What is known of a filter when it is placed; no part of the plan's identity.
 *
 * @param domain
 *   distinct values that the probe side's key takes, None if unknown
 * @param saving
 *   what a removed row saves between scan and join
 * @param wanted
 *   whether the query asks for it by a hint
 * @param pushable
 *   whether the scan may be told of it: nothing else reads by the same one
 * @param grouped
 *   whether rows are grouped between scan and join: then rows of a group must go together, or what is computed of the
 *   rest of a group that has no match might raise an error that the whole group does not
 * @param late
 *   the filter as one that the scan does not wait for, if it is one
 */
final case class FilterInfo(
    query: QueryRecord,
    record: FilterRecord,
    domain: Option[Double],
    saving: FilterCost.Saving,
    minRejection: Double,
    wanted: Boolean = false,
    pushable: Boolean = true,
    grouped: Boolean = false,
    late: Option[LateFilter] = None
)

/**
 * A runtime filter that waits for its build side: an edge of the plan. `source` is the very exchange of the join's build
 * side, so adaptive execution runs it once and before the stage of this scan; then the filter is decided and this node
 * becomes an [[AppliedRuntimeFilterExec]]. Should that not happen it passes every row.
 *
 * {{{
 *   RuntimeFilter RF000 -> l_orderkey
 *   :- Scan parquet lineitem
 *   +- Exchange hashpartitioning(o_orderkey)      (not printed: it stands under the join)
 * }}}
 */
case class RuntimeFilterExec(sourceKey: SourceKey, key: Expression, child: SparkPlan, source: SparkPlan)(
    @transient val info: FilterInfo
) extends BinaryExecNode {
  override def left: SparkPlan = child
  override def right: SparkPlan = source
  override protected def otherCopyArgs: Seq[AnyRef] = info :: Nil
  override def nodeName: String = "RuntimeFilter"
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override protected def doExecute(): RDD[InternalRow] = child.execute()

  // A copy on an executor, or a canonical one, has no record.
  private def label: String = s"${Option(info).fold("RF")(_.record.id)} -> ${FilterKey.label(key)}"
  override def simpleString(maxFields: Int): String = s"$nodeName $label"
  override def verboseStringWithOperatorId(): String = s"$formattedNodeName\n$label\n"

  // Twins must agree whatever their filters are called.
  override protected def doCanonicalize(): SparkPlan = RuntimeFilterExec(
    sourceKey,
    QueryPlan.normalizeExpressions(key, child.output),
    child.canonicalized,
    source.canonicalized
  )(null)

  /** EXPLAIN goes this way: the build side's operators are numbered and shown under their join, not here once more. */
  override def foreachUp(f: SparkPlan => Unit): Unit = {
    child.foreachUp(f)
    f(this)
  }

  override def generateTreeString(
      depth: Int,
      lastChildren: JArrayList[Boolean],
      append: String => Unit,
      verbose: Boolean,
      prefix: String,
      addSuffix: Boolean,
      maxFields: Int,
      printNodeId: Boolean,
      printOutputColumns: Boolean,
      indent: Int
  ): Unit =
    // As a node with one child: the build side is printed where it belongs, under its join.
    RuntimeFilterLine(simpleString(maxFields), child).generateTreeString(
      depth,
      lastChildren,
      append,
      verbose,
      prefix,
      addSuffix,
      maxFields,
      printNodeId,
      printOutputColumns,
      indent
    )

  override protected def withNewChildrenInternal(newLeft: SparkPlan, newRight: SparkPlan): RuntimeFilterExec =
    copy(child = newLeft, source = newRight)(info)
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
 * A runtime filter that was decided: what could be pushed is in the scan below; `predicate` is tested row by row.
 *
 * It removes only rows whose key is null or is proven not to be on the build side, which the join would remove. A task in
 * which a sample of rows is rejected too rarely stops testing for a while.
 *
 * @param predicate
 *   None where pushing to the scan is all that pays
 * @param source
 *   the canonical form of the build side: a twin with another build side is another plan
 */
case class AppliedRuntimeFilterExec(
    sourceKey: SourceKey,
    key: Expression,
    predicate: Option[Expression],
    @transient source: SparkPlan,
    child: SparkPlan
)(@transient val info: FilterInfo)
    extends UnaryExecNode
    with CodegenSupport {
  override protected def otherCopyArgs: Seq[AnyRef] = info :: Nil
  override def nodeName: String = "RuntimeFilter"
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "numPauses" -> SQLMetrics.createMetric(sparkContext, "number of times the filter was not worth testing")
  )

  private def label: String =
    s"${Option(info).fold("RF")(i => s"${i.record.id}[${i.record.kinds.mkString(", ")}]")} -> ${FilterKey.label(key)}"
  override def simpleString(maxFields: Int): String = s"$nodeName $label"
  override def verboseStringWithOperatorId(): String = s"$formattedNodeName\n$label\n"
  override def usedInputs: AttributeSet = AttributeSet.empty

  // Not the predicate: twins read the same summary, but each has a bloom filter object of its own. A late filter is as
  // the edge that another planning has in its place.
  override protected def doCanonicalize(): SparkPlan = {
    val at = QueryPlan.normalizeExpressions(key, child.output)
    if (late.isDefined) RuntimeFilterExec(sourceKey, at, child.canonicalized, source)(null)
    else AppliedRuntimeFilterExec(sourceKey, at, None, source, child.canonicalized)(null)
  }

  /** The filter that the scan does not wait for, if it is one. */
  def late: Option[LateFilter] = predicate.collect { case LateContains(_, f) => f }

  // What passes while the filter pauses depends on the order of the rows: a task that runs again must see them in the same
  // one, as a file's are.
  private def keepAtMost: Int =
    if (info.grouped || !fixedOrder(child))
      AppliedRuntimeFilterExec.sample
    else ((1 - info.minRejection) * AppliedRuntimeFilterExec.sample).toInt

  private def fixedOrder(p: SparkPlan): Boolean = p match {
    case _: FileSourceScanExec => true
    case b: BatchScanExec => b.scan.isInstanceOf[FileScan]
    case _: Exchange => false
    case _ =>
      val inputs = Determinism.inner(p)
      inputs.nonEmpty && inputs.forall(fixedOrder)
  }

  override protected def doExecute(): RDD[InternalRow] = predicate match {
    case None => child.execute()
    case Some(p) =>
      late.foreach(_.startBuildSide(sparkContext, source))
      val out = longMetric("numOutputRows")
      val (pauses, atMost, missing) = (longMetric("numPauses"), keepAtMost, late)
      val input = child.output
      child.execute().mapPartitionsWithIndexInternal { (partition, rows) =>
        val test = Predicate.create(p, input)
        test.initialize(partition)
        val sampler = new FilterSampler(atMost)
        rows.filter { row =>
          val keep = missing.exists(!_.here()) || sampler.paused() || {
            val passed = test.eval(row)
            if (sampler.saw(passed)) pauses += 1
            passed
          }
          if (keep) out += 1
          keep
        }
      }
  }

  override def inputRDDs(): Seq[RDD[InternalRow]] = {
    late.foreach(_.startBuildSide(sparkContext, source))
    child.asInstanceOf[CodegenSupport].inputRDDs()
  }

  override protected def doProduce(ctx: CodegenContext): String =
    child.asInstanceOf[CodegenSupport].produce(ctx, this)

  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = predicate match {
    case None => consume(ctx, input)
    case Some(p) =>
      // What a task does not test is no sample of what the filter rejects.
      val here = late.fold("")(f => s"${ctx.addReferenceObj("late", f)}.here() && ")
      val out = metricTerm(ctx, "numOutputRows")
      val pauses = metricTerm(ctx, "numPauses")
      val name = classOf[FilterSampler].getName
      val sampler = ctx.addMutableState(name, "filterSampler", v => s"$v = new $name($keepAtMost);")
      val keep = ctx.freshName("keep")
      ctx.currentVars = input
      val evaluated = evaluateRequiredVariables(child.output, input, p.references)
      val test = BindReferences.bindReference(p, child.output).genCode(ctx)
      s"""
         |do {
         |  $evaluated
         |  boolean $keep = true;
         |  if ($here!$sampler.paused()) {
         |    ${test.code}
         |    $keep = !${test.isNull} && ${test.value};
         |    if ($sampler.saw($keep)) $pauses.add(1);
         |  }
         |  if (!$keep) continue;
         |  $out.add(1);
         |  ${consume(ctx, input)}
         |} while(false);
       """.stripMargin
  }

  /** The same of a build side that is computed in another way. */
  def withSource(other: SparkPlan): AppliedRuntimeFilterExec = {
    val f = copy(source = other)(info)
    f.copyTagsFrom(this)
    f
  }

  override protected def withNewChildInternal(newChild: SparkPlan): AppliedRuntimeFilterExec =
    copy(child = newChild)(info)
}

object AppliedRuntimeFilterExec {

  /** Rows of a sample. */
  val sample: Int = 1 << 14
}

/**
 * Stops a task from testing a filter that rejects too little, and lets it look again later.
 *
 * @param keepAtMost
 *   rows of a sample that may pass
 */
final class FilterSampler(keepAtMost: Int) {
  private var skip = 0
  private var seen = 0
  private var kept = 0
  private var pause = AppliedRuntimeFilterExec.sample

  /** Whether the next row is not tested. */
  def paused(): Boolean = skip > 0 && {
    skip -= 1
    true
  }

  /** Counts a tested row; true if the filter pauses now. */
  def saw(passed: Boolean): Boolean = {
    if (passed) kept += 1
    seen += 1
    seen == AppliedRuntimeFilterExec.sample && {
      val useless = kept > keepAtMost
      // Each look that finds nothing doubles the time to the next one.
      pause = if (useless) math.min(pause * 2, 1 << 22) else AppliedRuntimeFilterExec.sample
      if (useless) skip = pause
      seen = 0
      kept = 0
      useless
    }
  }
}

package org.apache.spark.sql.execution.springbok

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.springbok.catalyst.{ExpressionLabel, FixedOrder, RowFilter}
import org.apache.spark.sql.springbok.keys.SourceKey
import org.apache.spark.sql.springbok.physical.{LateContains, LateFilter, StartBuildSide}
import org.apache.spark.sql.springbok.record.RuntimeFilter

/**
 * A runtime filter that was decided: what could be pushed is in the scan below; `predicate` is tested row by row.
 *
 * It removes only rows whose key is null or is proven not to be on the build side, which the join would remove. A task in
 * which a sample of rows is rejected too rarely stops testing for a while.
 *
 * @param predicate
 *   None where pushing to the scan is all that pays
 * @param source
 *   the canonical form of the build side: the same scan with another build side is another plan
 */
case class AppliedRuntimeFilterExec(
    sourceKey: SourceKey,
    key: Expression,
    predicate: Option[Expression],
    @transient source: SparkPlan,
    child: SparkPlan
)(@transient val filter: RuntimeFilter)
    extends UnaryExecNode
    with CodegenSupport
    with RowFilter {
  import AppliedRuntimeFilterExec._

  override protected def otherCopyArgs: Seq[AnyRef] = filter :: Nil
  override def nodeName: String = "RuntimeFilter"
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "numPauses" -> SQLMetrics.createMetric(sparkContext, "number of times the filter was not worth testing")
  )

  /** How many row groups the scan skips, by the footers, and how many there are. */
  def rowGroups: Option[(Int, Int)] = Option(filter).flatMap(_.record.effect.rowGroups)

  private def label: String =
    s"${Option(filter).fold("RF")(f => s"${f.id}[${f.record.kinds.mkString(", ")}]")} -> ${ExpressionLabel(key)}"
  override def simpleString(maxFields: Int): String = s"$nodeName $label"
  override def verboseStringWithOperatorId(): String = s"$formattedNodeName\n$label\n"
  override def usedInputs: AttributeSet = AttributeSet.empty

  // Not the predicate: equal plans read the same summary, but each has a bloom filter object of its own. A late filter
  // equals the filter dependency that another planning has in its place.
  override protected def doCanonicalize(): SparkPlan = {
    val at = QueryPlan.normalizeExpressions(WholeGroups.identity(filter, key), child.output)
    if (late.isDefined) RuntimeFilterExec(sourceKey, at, child.canonicalized, source)(null)
    else AppliedRuntimeFilterExec(sourceKey, at, None, source, child.canonicalized)(null)
  }

  /** The filter that the scan does not wait for, if it is one. */
  def late: Option[LateFilter] = predicate.flatMap(_.collectFirst { case LateContains(_, f) => f })

  // What passes while the filter pauses depends on the order of the rows: a task that runs again must see them in the same
  // one, as a file's are.
  private def keepAtMost: Int =
    if (filter.grouped || !FixedOrder(child)) sample
    else ((1 - filter.minRejection) * sample).toInt

  override protected def doExecute(): RDD[InternalRow] = predicate match {
    case None => child.execute()
    case Some(p) =>
      late.foreach(StartBuildSide(_, sparkContext, source))
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
    late.foreach(StartBuildSide(_, sparkContext, source))
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
    val f = copy(source = other)(filter)
    f.copyTagsFrom(this)
    f
  }

  override protected def withNewChildInternal(newChild: SparkPlan): AppliedRuntimeFilterExec =
    copy(child = newChild)(filter)
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
  private var passedRows = 0
  private var pause = AppliedRuntimeFilterExec.sample

  /** Whether the next row is not tested. */
  def paused(): Boolean = skip > 0 && {
    skip -= 1
    true
  }

  /** Counts a tested row; true if the filter pauses now. */
  def saw(passed: Boolean): Boolean = {
    if (passed) passedRows += 1
    seen += 1
    seen == AppliedRuntimeFilterExec.sample && {
      val useless = passedRows > keepAtMost
      // Each look that finds nothing doubles the time to the next one.
      pause = if (useless) math.min(pause * 2, 1 << 22) else AppliedRuntimeFilterExec.sample
      if (useless) skip = pause
      seen = 0
      passedRows = 0
      useless
    }
  }
}

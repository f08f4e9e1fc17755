package org.apache.spark.sql.springbok.filter

import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.expressions.{Expression, Predicate, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.execution.{SparkPlan, SQLExecution}
import org.apache.spark.sql.execution.adaptive.{
  AdaptiveSparkPlanHelper,
  ExchangeQueryStageExec,
  ShuffleQueryStageExec
}
import org.apache.spark.sql.execution.springbok.{FilterInfo, RuntimeFilterExec, SourceKey}
import org.apache.spark.sql.internal.SQLConf

/**
 * A runtime filter that no scan waits for: its scan starts at once, and tests rows from when the filter has arrived, in
 * tasks that run as in those that start later; as with Impala and Doris.
 *
 * On the driver it knows how to be decided once its build side has finished. To tasks only its number goes, by which each
 * executor asks for it ([[LateArrivals]]).
 *
 * '''Why the answer cannot change''': each row that it removes is removed by the join as well, so it does not matter which
 * of them were tested. Computing a task again may leave other rows of these; what becomes of the rest depends on their
 * values alone, as a filter that comes late never goes below an exchange that deals rows out in turn.
 *
 * @param id
 *   unique in the application
 * @param waitMs
 *   how long in ms a task waits for it before its first row
 */
final class LateFilter(val id: Long, waitMs: Long) extends Serializable {
  import LateFilter._

  // ---- in a task

  @transient private var arrival: LateArrivals.Arrival = _

  /** Whether it has arrived. */
  def here(): Boolean = {
    if (arrival == null) arrival = LateArrivals.expect(id, waitMs)
    arrival.bloom != null
  }

  /** Once it has arrived. */
  def bloom: SplitBlockBloom = arrival.bloom

  // ---- on the driver

  @transient @volatile private var placed: Option[(SourceKey, Expression, FilterInfo)] = None
  @transient @volatile private[filter] var shipped: Option[Broadcast[SplitBlockBloom]] = None

  /** Where it was placed, the latest time. */
  def at(sourceKey: SourceKey, key: Expression, info: FilterInfo): Unit =
    placed = Some((sourceKey, key, info))

  /** The scan has come to wait after all, for a build side that had finished by then. */
  def withdraw(): Unit = placed = None

  /** Decides it from its finished build side, the first time. */
  private def decide(stage: ExchangeQueryStageExec, conf: SQLConf): Unit =
    for ((sourceKey, key, info) <- placed) {
      placed = None
      // The scan has gone; where the filter is decided only the build side is looked at.
      val f = RuntimeFilterExec(sourceKey, key, stage, stage)(info)
      shipped = new FilterDecision(f, conf).late.map(SparkContext.getActive.get.broadcast(_))
    }

  /**
   * Has the tasks of the build side scheduled before those of the scan, which would come first by their place in the
   * plan: called when the scan's stage is about to be submitted, in a thread of its own.
   */
  def startBuildSide(context: SparkContext): Unit =
    try
      for {
        execution <- Option(context.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))
        query <- Option(SQLExecution.getQueryExecution(execution.toLong))
        stage <- sources(query.executedPlan).find(_._2 eq this).map(_._1)
      } submitted(stage)
    catch {
      // It fails again where adaptive execution starts it.
      case NonFatal(_) =>
    }
}

object LateFilter extends AdaptiveSparkPlanHelper {

  /** The late filters of a plan whose build sides are stages, with these. */
  private def sources(plan: SparkPlan): Seq[(ExchangeQueryStageExec, LateFilter)] =
    collect(plan) { case s: ExchangeQueryStageExec =>
      ResolveRuntimeFilters.summaryOf(s).toSeq.flatMap(_.plan.late).map(s -> _)
    }.flatten

  /** Longest time in ms that a scan's stage is held back for its build side's to be submitted. */
  private val submitMs = 500L

  private def submitted(stage: ExchangeQueryStageExec): Unit = {
    val end = System.nanoTime + submitMs * 1000000
    val done = stage.materialize()
    stage match {
      case s: ShuffleQueryStageExec =>
        while (!done.isCompleted && s.shuffle.futureAction.get.isEmpty && System.nanoTime < end)
          Thread.sleep(1)
      // Adaptive execution begins with the broadcasts.
      case _ =>
    }
  }

  /** Decides those whose build sides have finished. */
  def arrive(plan: SparkPlan, conf: SQLConf): Unit =
    sources(plan).foreach { case (stage, late) => if (stage.isMaterialized) late.decide(stage, conf) }
}

/** Whether the filter may hold the key, once it is here; null for a null key. */
final case class LateContains(child: Expression, late: LateFilter) extends UnaryExpression with Predicate {
  override def nullIntolerant: Boolean = true

  override protected def nullSafeEval(key: Any): Any =
    !late.here() || late.bloom.mightContain(KeyType.hash(key, child.dataType))

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val filter = ctx.addReferenceObj("late", late)
    nullSafeCodeGen(
      ctx,
      ev,
      key =>
        s"${ev.value} = !$filter.here() || $filter.bloom().mightContain(${KeyType.hashCode(key, child.dataType)});"
    )
  }

  override def toString: String = s"late($child)"

  override protected def withNewChildInternal(newChild: Expression): LateContains = copy(child = newChild)
}

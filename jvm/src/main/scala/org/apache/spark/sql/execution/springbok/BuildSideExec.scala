package org.apache.spark.sql.execution.springbok

import java.lang.ref.WeakReference
import java.util.concurrent.Future

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, Statistics}
import org.apache.spark.sql.execution.{LeafExecNode, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{
  AdaptiveExecutionContext,
  AdaptiveSparkPlanExec,
  ExchangeQueryStageExec,
  QueryStageExec
}
import org.apache.spark.sql.execution.exchange.BroadcastExchangeLike
import org.apache.spark.sql.springbok.catalyst.{CurrentExecution, PlanInputs}
import org.apache.spark.sql.springbok.record.StageWait

/** Stands below a runtime filter for the exchange of its build side, or its stage, which has not finished. It is never run. */
sealed trait BuildSideExec extends SparkPlan {

  /** The exchange under the join, or its stage. */
  def exchange: SparkPlan
}

object BuildSideExec {

  /** The build side's exchange or stage, whatever stands for it. */
  def of(source: SparkPlan): SparkPlan = SummarizeKeysExec.exchangeOf(source) match {
    case b: BuildSideExec => b.exchange
    case _ => source
  }

  /** The stage of the build side, once it has finished and the plan of a scan's stage is complete. */
  def stage(source: SparkPlan, plan: SparkPlan): Option[SparkPlan] = source match {
    case j: JoinedBuildSideExec => j.stage(plan)
    case q: QueryStageExec =>
      SummarizeKeysExec.exchangeOf(q) match {
        case d: FilterDependencyExec => d.waiting.stage
        case _ => Some(q)
      }
    case _ => None
  }
}

/** A broadcast that the join in the scan's own stage reads: the scan waits for it anyway. */
case class JoinedBuildSideExec(@transient exchange: SparkPlan) extends LeafExecNode with BuildSideExec {
  override def nodeName: String = "JoinedBuildSide"
  override def output: Seq[Attribute] = Nil
  override def simpleString(maxFields: Int): String = nodeName
  override protected def doExecute(): RDD[InternalRow] = sparkContext.emptyRDD
  override protected def doCanonicalize(): SparkPlan = JoinedBuildSideExec(exchange.canonicalized)

  /** The stage in which the broadcast has run, among the operators of the scan's stage. */
  def stage(plan: SparkPlan): Option[ExchangeQueryStageExec] = plan.collectFirst {
    case s: ExchangeQueryStageExec if s.canonicalized == exchange.canonicalized => s
  }
}

/**
 * A build side that the scan's stage has to wait for: to adaptive execution it is one more stage, whose end is that of the
 * wait. So the scan's stage is made later, no thread waits, and the build side runs once, under its join.
 */
case class FilterDependencyExec(@transient exchange: SparkPlan, child: SparkPlan = NoRowsExec())(
    @transient val waiting: StageWait
) extends BroadcastExchangeLike
    with BuildSideExec {
  // Adaptive execution would replace a node of the query's plan by this stage.
  setLogicalLink(FilterDependencyExec.noPlan)

  override protected def otherCopyArgs: Seq[AnyRef] = waiting :: Nil
  override def nodeName: String = "FilterDependency"
  override def simpleString(maxFields: Int): String = nodeName
  override def relationFuture: Future[Broadcast[Any]] = waiting.cancellable

  override protected def completionFuture: scala.concurrent.Future[Broadcast[Any]] = waiting.ended

  /** Here the thread has the properties of the query, which it may lack when it asks for the future. */
  override protected def doPrepare(): Unit = {
    val build = exchange.canonicalized
    // Weakly: the wait may outlive a query that was interrupted.
    val contexts = CurrentExecution
      .query(sparkContext)
      .toSeq
      .flatMap(q => FilterDependencyExec.contexts(q.executedPlan))
      .map(new WeakReference(_))
    // A stage is cached under another form, in which filters below it are decided.
    def finished = contexts.flatMap(c => Option(c.get)).flatMap(_.stageCache.values).find { s =>
      s.isMaterialized && s._canonicalized == build
    }
    waiting.begin(sparkContext, conf.broadcastTimeout)(() => finished)
  }

  override def runtimeStatistics: Statistics = Statistics(sizeInBytes = 0)
  override protected def doExecute(): RDD[InternalRow] = child.execute()

  override protected def doCanonicalize(): SparkPlan =
    FilterDependencyExec(exchange.canonicalized, child.canonicalized)(null)

  override protected def withNewChildInternal(newChild: SparkPlan): FilterDependencyExec =
    copy(child = newChild)(waiting)
}

object FilterDependencyExec {

  /** What adaptive execution shares among a query and its subqueries, and for each cached table. */
  private def contexts(p: SparkPlan): Seq[AdaptiveExecutionContext] = {
    val own = p match {
      case a: AdaptiveSparkPlanExec => Seq(a.context)
      case _ => Nil
    }
    own ++ PlanInputs.of(p).flatMap(contexts)
  }

  private val noPlan: LogicalPlan = LocalRelation(Nil)
}

/** No rows. */
case class NoRowsExec(output: Seq[Attribute] = Nil) extends LeafExecNode {
  override protected def doExecute(): RDD[InternalRow] = sparkContext.emptyRDD
}

package org.apache.spark.sql.springbok.rules.runtimefilters.place

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions.{Expression, LeafExpression, PlanExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.springbok.{SummarizeKeysExec, SummaryPlan}
import org.apache.spark.sql.springbok.catalyst.{JoinSide, SharedExchanges, Sides}
import org.apache.spark.sql.springbok.keys.{BuildKey, FilterKey, SourceKey}
import org.apache.spark.sql.springbok.physical.PhysicalRows

/** The build sides of joins, as exchanges that finish before the scans that wait for them. */
private[springbok] object BuildSides {

  /** Rows of a broadcast whose keys the driver would read for about 50 ms. */
  private val manyRows = 200e3

  /** The exchange, or its stage, that a join's child comes straight out of: only a sort may stand between. */
  def exchange(child: SparkPlan): Option[SparkPlan] = child match {
    case s: SortExec if !s.global => exchange(s.child)
    case e: ShuffleExchangeExec => Some(e)
    case e: BroadcastExchangeExec => Some(e)
    case q: ExchangeQueryStageExec => Some(q)
    case _ => None
  }

  /**
   * The build side with a summary under this exchange. Equal exchanges get the summary as well, because Spark runs the first
   * of them that it comes to. A stage that runs already stays as it is.
   */
  def summarized(built: SparkPlan, exchange: SparkPlan, summary: SummaryPlan): SparkPlan = built match {
    case e: Exchange if SharedExchanges.same(e, exchange) => marked(e, summary)
    case p => p.mapChildren(summarized(_, exchange, summary))
  }

  /**
   * The plan in which equal exchanges have one summary: Spark runs the first of them that it comes to, and that one may stand
   * outside of the creation side that asks for the keys.
   */
  def summarizedAlike(plan: SparkPlan): SparkPlan = {
    // In the order of the plan: it is the order of the filters in a summary's label.
    val all = plan.collect { case e: Exchange => e }
    val summaries = all.flatMap(e => summary(e).map(e -> _))
    def wanted(e: Exchange): Option[SummaryPlan] =
      summaries.collect { case (m, s) if SharedExchanges.same(e, m) => s }.distinct.reduceOption(_ + _)
    val changed = new IdentityHashMap[SparkPlan, SummaryPlan]()
    if (summaries.nonEmpty)
      for (e <- all; s <- wanted(e) if !summary(e).contains(s)) changed.put(e, s): Unit
    def rewritten(p: SparkPlan): SparkPlan = p match {
      case e: Exchange if changed.containsKey(e) =>
        marked(bare(e).mapChildren(rewritten).asInstanceOf[Exchange], changed.get(e))
      case _ => p.mapChildren(rewritten)
    }
    if (changed.isEmpty) plan else rewritten(plan)
  }

  private def summary(e: Exchange): Option[SummaryPlan] = SummarizeKeysExec.summaryOf(e).map(_.plan)

  private def bare(e: Exchange): Exchange = e.child match {
    case s: SummarizeKeysExec => e.withNewChildren(Seq(s.child)).asInstanceOf[Exchange]
    case _ => e
  }

  private def marked(e: Exchange, summary: SummaryPlan): Exchange = {
    val node = e.child match {
      // The summary for a join below.
      case s: SummarizeKeysExec => s.copy(plan = s.plan + summary)
      case c => SummarizeKeysExec(summary, c)
    }
    node.copyTagsFrom(e.child)
    e.withNewChildren(Seq(node)).asInstanceOf[Exchange]
  }

  /** A key as an expression of the exchange's output, if it is one. */
  private def keyAt(exchange: SparkPlan, on: FilterConjunct): Option[BuildKey] =
    FilterKey
      .of(on.creation)
      .filter(k => k.deterministic && k.references.nonEmpty && k.references.subsetOf(exchange.outputSet))
      .filter(k => computes(exchange, on.creation) || FilterKey.admissible(k))
      .filterNot(_.exists(hidden))
      .map(BuildKey.of(_, exchange.output))

  /**
   * Whether the exchange computes a key for each of its rows. A sort-merge join computes none where the other side has no row, so
   * it may never meet the error that a key raises.
   */
  private def computes(exchange: SparkPlan, key: Expression): Boolean = exchange.outputPartitioning match {
    case h: HashPartitioning => h.expressions.exists(_.semanticEquals(key))
    case _ => isBroadcast(exchange)
  }

  /**
   * What Spark must see among an operator's expressions, where a summary's keys are not: functions without generated code keep
   * their operator out of it, and subqueries are run before their operator.
   */
  private def hidden(e: Expression): Boolean = e match {
    case _: LeafExpression => false
    case _: CodegenFallback | _: PlanExpression[?] => true
    case _ => false
  }

  /**
   * How a key is read from the exchange; None where a stage was started without a summary of it. The driver reads the keys of
   * a broadcast, unless they are so many that its tasks had better summarize them.
   */
  def sourceKey(
      exchange: SparkPlan,
      j: BaseJoinExec,
      creation: JoinSide,
      on: FilterConjunct,
      rows: PhysicalRows
  ): Option[SourceKey] = {
    val summary = keyAt(exchange, on)
    val read: BuildKey => SourceKey =
      key => on.range.fold[SourceKey](SourceKey.Shuffle(key))(SourceKey.Bound(key, _))
    exchange match {
      case e if isBroadcast(e) && on.range.isEmpty =>
        val byTasks = summary.filter(k => hasMany(exchange, rows) && summarizes(exchange, k))
        val keys = Sides.keys(j)(creation)
        val at = keys.indexWhere(_ eq on.creation)
        Option.when(at >= 0)(SourceKey.Broadcast(at, keys.map(_.dataType), byTasks))
      case _ => summary.filter(summarizes(exchange, _)).map(read)
    }
  }

  /** Whether the driver had better not read the keys of this broadcast. */
  private def hasMany(exchange: SparkPlan, rows: PhysicalRows): Boolean =
    rows.passing(exchange).flatMap(_.rows).exists(_.value >= manyRows)

  /** Whether the exchange has a summary of the key, or can still get one. */
  private def summarizes(exchange: SparkPlan, key: BuildKey): Boolean = exchange match {
    case s: ExchangeQueryStageExec => SummarizeKeysExec.summaryOf(s).exists(_.indexOf(key).isDefined)
    case _ => true
  }

  def isBroadcast(exchange: SparkPlan): Boolean = exchange match {
    case _: BroadcastExchangeExec | _: BroadcastQueryStageExec => true
    case _ => false
  }

  /** The keys that tasks of the build side summarize, with the size in bytes of their bloom filters. */
  def summarizedKeys(keys: Seq[(SourceKey, Long)]): Seq[(BuildKey, Long)] =
    SummaryPlan.once(keys.collect {
      case (SourceKey.Shuffle(key), bloom) => key -> bloom
      case (SourceKey.Broadcast(_, _, Some(key)), bloom) => key -> bloom
      case (SourceKey.Bound(key, _), bloom) => key -> bloom
    })

  /** Whether the stage of this exchange has finished. */
  def finished(exchange: SparkPlan): Boolean = finishedStage(exchange).isDefined

  /** The stage of this exchange, if it has finished. */
  def finishedStage(exchange: SparkPlan): Option[ExchangeQueryStageExec] = exchange match {
    case q: ExchangeQueryStageExec if q.isMaterialized => Some(q)
    case _ => None
  }
}

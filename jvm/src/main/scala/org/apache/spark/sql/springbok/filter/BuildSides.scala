package org.apache.spark.sql.springbok.filter

import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.springbok._

/** Which child of a join is the source of its filters. */
final private[filter] case class Direction(source: Int)

/** The build sides of joins, as exchanges that finish before the scans that wait for them. */
private[filter] object BuildSides {

  /** The exchange, or its stage, that a join's child comes straight out of: only a sort may stand between. */
  def exchange(child: SparkPlan): Option[SparkPlan] = child match {
    case s: SortExec if !s.global => exchange(s.child)
    case e: ShuffleExchangeExec => Some(e)
    case e: BroadcastExchangeExec => Some(e)
    case q: ExchangeQueryStageExec => Some(q)
    case _ => None
  }

  /** The build side with the summary under its exchange; a stage that runs already is left as it is. */
  def summarized(child: SparkPlan, summary: SummaryPlan): SparkPlan = child match {
    case s: SortExec => s.withNewChildren(Seq(summarized(s.child, summary)))
    case e: Exchange =>
      val node = SummarizeKeysExec(summary, e.child)
      node.copyTagsFrom(e.child)
      e.withNewChildren(Seq(node))
    case other => other
  }

  /** How a key is read from the exchange; None where a stage was started without a summary of it. */
  def sourceKey(exchange: SparkPlan, j: BaseJoinExec, d: Direction, on: FilterOn): Option[SourceKey] = {
    val summary = FilterKey
      .of(on.build)
      // The exchange and the join compute it for each of its rows as well.
      .filter(k => k.deterministic && k.references.nonEmpty && k.references.subsetOf(exchange.outputSet))
      .map(BuildKey.of(_, exchange.output))
    val read: BuildKey => SourceKey =
      key => on.range.fold[SourceKey](SourceKey.Shuffle(key))(SourceKey.Bound(key, _))
    exchange match {
      case e if isBroadcast(e) && on.range.isEmpty =>
        val keys = if (d.source == 0) j.leftKeys else j.rightKeys
        Some(SourceKey.Broadcast(on.index, keys.map(_.dataType)))
      // Of a relation for lookups only the keys can be listed.
      case e if isBroadcast(e) => if (j.isInstanceOf[BroadcastNestedLoopJoinExec]) summary.map(read) else None
      case s: ShuffleQueryStageExec =>
        summary.filter(k => ResolveRuntimeFilters.summaryOf(s).exists(_.indexOf(k).isDefined)).map(read)
      case _ => summary.map(read)
    }
  }

  private def isBroadcast(exchange: SparkPlan): Boolean = exchange match {
    case _: BroadcastExchangeExec | _: BroadcastQueryStageExec => true
    case _ => false
  }

  /** The keys that tasks of the build side summarize, with the size in bytes of their bloom filters. */
  def summarizedKeys(exchange: SparkPlan, keys: Seq[(SourceKey, Long)]): Seq[(BuildKey, Long)] =
    if (isBroadcast(exchange)) Nil
    else
      keys
        .collect {
          case (SourceKey.Shuffle(key), bloom) => key -> bloom
          case (SourceKey.Bound(key, _), bloom) => key -> bloom
        }
        .groupMapReduce(_._1)(_._2)(math.max(_, _))
        .toSeq

  /** Whether the stage of this exchange is done. */
  def finished(exchange: SparkPlan): Boolean = exchange match {
    case q: QueryStageExec => q.isMaterialized
    case _ => false
  }

  /** Operators that an edge to this exchange adds to the plan; a stage counts as one. */
  def nodes(p: SparkPlan): Int = p match {
    case _: QueryStageExec => 1
    case _ => 1 + p.children.map(nodes).sum
  }
}

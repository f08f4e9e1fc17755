package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.springbok.{SummarizeKeysExec, SummaryPlan}
import org.apache.spark.sql.springbok.catalyst.{SharedExchanges, SharedRewrite}
import org.apache.spark.sql.springbok.keys.{BuildKey, FilterKey, SourceKey}

/** Which child of a join is the source of its filters. */
final private[springbok] case class Direction(source: Int)

/** An exchange that filters of a join are read from, and the join's conjuncts with their build side's keys there. */
final private[springbok] case class Source(exchange: SparkPlan, keys: Seq[FilterOn])

/** The build sides of joins, as exchanges that finish before the scans that wait for them. */
private[springbok] object BuildSides {

  /** The exchange, or its stage, that a join's child comes straight out of: only a sort may stand between. */
  def exchange(child: SparkPlan): Option[SparkPlan] = child match {
    case s: SortExec if !s.global => exchange(s.child)
    case e: ShuffleExchangeExec => Some(e)
    case e: BroadcastExchangeExec => Some(e)
    case q: ExchangeQueryStageExec => Some(q)
    case _ => None
  }

  /**
   * What filters of a join are read from: the exchange that its build side comes straight out of, else, where the build
   * side is computed in the join's own stage because it is partitioned by the join's keys already, an exchange below.
   *
   * @param rows
   *   rows of an exchange; of several that have not finished the smallest is taken
   */
  def source(j: BaseJoinExec, d: Direction, built: SparkPlan, rows: SparkPlan => Double): Option[Source] =
    exchange(built) match {
      case Some(e) => Some(Source(e, FilterOn.of(j, d)))
      case None if !j.isInstanceOf[ShuffledJoin] => None
      case None =>
        val found =
          for {
            on <- FilterOn.of(j, d)
            key <- FilterKey.of(on.build).toSeq
            (e, there) <- below(built, key)
            at = on.copy(build = there, from = Some(e))
            // There it is computed for rows that do not reach the join.
            if FilterKey.admissible(there) && sourceKey(e, j, d, at).isDefined
          } yield e -> at
        found.map(_._1).minByOption(e => (!finished(e), rows(e))).map { best =>
          Source(best, found.collect { case (e, on) if e eq best => on }.distinctBy(_.index))
        }
    }

  /**
   * The shuffles that all values of a key have passed, and the key there.
   *
   * Not through an aggregate or a window's limit: adaptive execution puts the stage of the exchange in their middle in the
   * place of their logical node, which it finds by the first operator that stands for it, and that would be an edge's.
   */
  private def below(p: SparkPlan, key: Expression): Seq[(SparkPlan, Expression)] = p match {
    case _: ShuffleExchangeExec | _: ShuffleQueryStageExec => Seq(p -> key)
    case _: UnionExec => Nil
    case _ if KeyTrace.groups(p) => Nil
    case _ => KeyTrace.routes(p, key).flatMap(r => below(p.children(r.child), r.key))
  }

  /**
   * The build side with a summary under this exchange, and under its twins, of which Spark runs the first one it comes to;
   * and the exchange then. A stage that runs already is left as it is. Nodes that stand in several places, as edges do,
   * stay the same ones.
   */
  def summarized(built: SparkPlan, exchange: SparkPlan, summary: SummaryPlan): (SparkPlan, SparkPlan) = {
    val replaced = new SharedRewrite({
      case (e: Exchange, _) if SharedExchanges.same(e, exchange) => marked(e, summary)
      case (p, children) => p.mapChildren(children)
    })
    (replaced(built), replaced(exchange))
  }

  private def marked(e: Exchange, summary: SummaryPlan): Exchange = {
    val node = e.child match {
      // That of a join below.
      case s: SummarizeKeysExec => s.copy(plan = s.plan + summary)
      case c => SummarizeKeysExec(summary, c)
    }
    node.copyTagsFrom(e.child)
    e.withNewChildren(Seq(node)).asInstanceOf[Exchange]
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
        summary.filter(k => SummarizeKeysExec.summaryOf(s).exists(_.indexOf(k).isDefined)).map(read)
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
      SummaryPlan.once(keys.collect {
        case (SourceKey.Shuffle(key), bloom) => key -> bloom
        case (SourceKey.Bound(key, _), bloom) => key -> bloom
      })

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

package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ShuffleExchangeExec}
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.window.{WindowExec, WindowGroupLimitExec}
import org.apache.spark.sql.springbok.catalyst.{JoinSide, Sides}
import org.apache.spark.sql.springbok.cost.{CostConstants, FilterCost}
import org.apache.spark.sql.springbok.keys.{FilterKey, KeyType}
import org.apache.spark.sql.springbok.physical.PhysicalRows

/** Time in ns that operators take for a row, which is saved if a filter removes the row. */
final private[springbok] class OperatorCost(rows: PhysicalRows) {

  /** The time for a row that comes from this child. */
  def of(p: SparkPlan, child: Int): Double = p match {
    case b: BroadcastHashJoinExec if JoinSide.of(b.buildSide).index != child => lookup(b)
    case _: BroadcastHashJoinExec => 0
    case _ => OperatorCost.of(p)
  }

  /** The time that a join takes for a row of its own filter's application side. */
  def ofJoin(j: BaseJoinExec): Double = j match {
    case b: BroadcastHashJoinExec => lookup(b)
    case _ => OperatorCost.of(j)
  }

  /** A lookup in a broadcast that may not be there yet. */
  private def lookup(b: BroadcastHashJoinExec): Double = {
    val build = JoinSide.of(b.buildSide)
    val keys = Sides.keys(b)(build)
    rows.side(b, build).flatMap(e => e.rows.map(e -> _.value)).fold(CostConstants.probeNs) { case (e, n) =>
      val key = Option.when(keys.size == 1)(keys.head).filter(k => KeyType.isLong(k.dataType))
      val range =
        for (c <- key.flatMap(FilterKey.only).flatMap(e.columns.get); r <- c.range) yield r.width
      FilterCost.lookup(n, key.isDefined, range.exists(FilterCost.dense(_, n)))
    }
  }
}

private[springbok] object OperatorCost {

  /** The time for a row in an operator; in a broadcast join without the lookup. */
  def of(plan: SparkPlan): Double = plan match {
    case _: ShuffleExchangeExec => CostConstants.shuffleNs
    case _: BroadcastExchangeExec => CostConstants.collectNs
    case _: SortExec => CostConstants.sortNs
    case _: BaseAggregateExec => CostConstants.aggregateNs
    case _: WindowExec | _: WindowGroupLimitExec => CostConstants.windowNs
    case _: ShuffledHashJoinExec | _: BroadcastNestedLoopJoinExec => CostConstants.probeNs
    case _: SortMergeJoinExec => CostConstants.mergeNs
    case _: ProjectExec | _: FilterExec => CostConstants.projectNs
    case _ => 0
  }
}

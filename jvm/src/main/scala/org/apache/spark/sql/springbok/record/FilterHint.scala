package org.apache.spark.sql.springbok.record

import org.apache.spark.sql.catalyst.plans.logical.{HintErrorHandler, HintInfo, JoinStrategyHint}
import org.apache.spark.sql.execution.joins.BaseJoinExec

/**
 * What a query says of the runtime filters of a relation; Spark carries it to the nearest join above.
 *
 * @param wanted
 *   whether the relation is to be filtered whatever that costs, or never
 */
final class FilterHint(val wanted: Boolean, strategy: Option[JoinStrategyHint] = None)
    extends HintInfo(strategy) {
  override def merge(other: HintInfo, handler: HintErrorHandler): HintInfo = other match {
    case f: FilterHint if f.wanted != wanted =>
      handler.hintOverridden(f)
      this
    case _ => new FilterHint(wanted, super.merge(other, handler).strategy)
  }
  override def toString: String = if (wanted) "(runtime_filter)" else "(no_runtime_filter)"
}

object FilterHint {

  /** Whether the query asks for filters in this child of the join. */
  def wants(j: BaseJoinExec, child: Int): Boolean = of(j, child).exists(_.wanted)

  /** Whether the query forbids filters in this child of the join. */
  def forbids(j: BaseJoinExec, child: Int): Boolean = of(j, child).exists(!_.wanted)

  private def of(j: BaseJoinExec, child: Int): Option[FilterHint] =
    JoinState
      .of(j)
      .flatMap(r => if (child == 0) r.userHint.leftHint else r.userHint.rightHint)
      .collect { case h: FilterHint => h }
}

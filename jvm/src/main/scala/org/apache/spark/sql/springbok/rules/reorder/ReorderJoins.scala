package org.apache.spark.sql.springbok.rules.reorder

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.springbok.catalyst.{ExpressionLabel, RelationName, RuleGuard}
import org.apache.spark.sql.springbok.conf.ReorderConf
import org.apache.spark.sql.springbok.cost.Scenario
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{JoinState, PlanningState}

/**
 * Puts inner joins that stand next to one another into the order that is expected to cost least, runtime filters
 * included; also where Spark's own cost-based optimizer is off.
 *
 * {{{
 *   Join o_custkey = c_custkey                       Join l_orderkey = o_orderkey
 *   :- Join l_orderkey = o_orderkey                  :- lineitem
 *   :  :- lineitem                               =>  +- Join o_custkey = c_custkey
 *   :  +- orders                                        :- orders
 *   +- customer, filtered                               +- customer, filtered
 * }}}
 *
 * Runs after all of Spark's rules and before the strategies of the joins are chosen. Statistics decide ([[PlanStats]]). The
 * model is in [[JoinOrderCost]], the search in [[JoinOrderSearch]].
 *
 * '''When''': at least three relations; all their rows known; no hint on their joins; and the order passes each
 * [[OrderGate]]. It must save `spark.springbok.reorder.minGain` of the whole, scans included, and
 * `spark.springbok.reorder.minGainMs`: where the joins cost less, no other order is searched. No more than half of the gain
 * may be lost if predicates of unknown selectivity remove no row, or if one of the uncertain estimates is off by a factor of
 * 4. A join that the query has several times stays as it is wherever that is needed to run it once ([[RepeatedJoins]]).
 *
 * '''Why the answer cannot change''': inner joins commute and associate. All conjuncts are kept, each at the lowest join
 * that has its columns ([[JoinBlock]]). Equalities put columns of one type into classes. Each join gets one equality per
 * class between its sides. An added equality follows from the query's own, so the result is the same. Nulls equal nothing,
 * and NaN and -0.0 equal the same values in every order. All other conjuncts must be deterministic, and none may raise an
 * error ([[CannotRaise]]), because it would see rows that another join has removed before. The same holds for a column that
 * is computed for matching rows only ([[DeferredErrors]]). Outer, semi and anti joins, aggregates and limits stay as they
 * are, as relations that are joined. The columns keep their order.
 *
 * The order of the result's rows does change. So the rule skips joins below an operator that depends on row order: a LIMIT
 * without a sort below it, a sample, functions such as `first`, `collect_list`, `max_by` and `rand`, user code over partitions.
 * Sums of floating-point numbers may differ in their last digits. A sorted LIMIT and functions such as `row_number` may
 * take other rows among equal ones, as with any other change of a plan.
 *
 * Queries of little data are left to Spark (`PlanningBudget`).
 *
 * The hint `LEADING` asks for an order, which then needs no statistics and passes no gate. It must be the only hint of the
 * joins.
 *
 * Plans with dynamic partition pruning are left alone: the pruning subquery copies a join's build side, and both must stay
 * equal. Bucketed tables are left alone, and so are subqueries, which are planned before their query and may share joins with it.
 *
 * '''Settings''': `spark.springbok.reorder.*`; and, for the cost of an order, `spark.springbok.runtimeFilter.mode`,
 * `.join.broadcastBytesLimit` and `.join.broadcastMemoryFraction`.
 */
object ReorderJoins extends Rule[LogicalPlan] {
  def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case _ if PlanningState.leavesAlone(plan, conf) || !conf.getConf(ReorderConf.ENABLED) => plan
    // The batch runs until nothing changes: what has a strategy has been here. Joins of subqueries have one as well.
    case _ if !plan.exists(JoinState.isMissing) => plan
    case _ =>
      lazy val query = PlanningState.adoptQuery(plan)
      RuleGuard("ReorderJoins", PlanningState.tagged(plan, query), Some(query))(
        new JoinReorder(plan, query).apply()
      )
  }
}

/** A condition for another order of joins. A cost that is not a number fulfils none. */
sealed private[reorder] trait OrderGate {

  /** Why the query's order stays. */
  def against(c: OrderCandidate): Option[Reason]
}

private[reorder] object OrderGate {

  /** The cheap conditions come first: the order also decides which reason is reported. */
  private val all: Seq[OrderGate] = Seq(SavesShare, SavesTime, HoldsWithoutGuesses, HoldsIfEstimatesAreOff)

  /** Part of the gain that may be lost where something is other than expected. */
  private val tolerance = 0.5

  def against(c: OrderCandidate): Option[Reason] =
    all.iterator.map(_.against(c)).collectFirst { case Some(why) => why }

  private case object SavesShare extends OrderGate {
    override def against(c: OrderCandidate): Option[Reason] =
      Option.unless(c.gain > 0 && c.gain >= c.limits.share)(
        Reason.smallGain(math.max(0, c.gain), c.limits.share)
      )
  }

  /** A short query takes longer to compile for another plan than it may gain. */
  private case object SavesTime extends OrderGate {
    override def against(c: OrderCandidate): Option[Reason] = {
      val saved = c.limits.wallMs(c.beforeNs - c.afterNs)
      Option.unless(saved >= c.limits.ms)(Reason.shortGain(saved, c.limits.ms))
    }
  }

  private case object HoldsWithoutGuesses extends OrderGate {
    override def against(c: OrderCandidate): Option[Reason] = {
      val loss = c.loss(c.graph.assuming(Scenario.NothingGuessed))
      Option.unless(loss <= c.gain * tolerance)(Reason.guessedGain(c.gain, loss))
    }
  }

  private case object HoldsIfEstimatesAreOff extends OrderGate {
    override def against(c: OrderCandidate): Option[Reason] = {
      val losses = Scenario.of(c.graph).iterator.map(s => s -> c.loss(c.graph.assuming(s)))
      losses.collectFirst {
        case (s, loss) if !(loss <= c.gain * tolerance) =>
          Reason.uncertainGain(c.gain, loss, label(s, c.block))
      }
    }
  }

  /** What is other than expected, as the end of a sentence. */
  private def label(s: Scenario, b: JoinBlock): String = s match {
    case Scenario.NothingGuessed => "no guessed predicate removes a row"
    case Scenario.More(i) => s"the joins with ${RelationName(b.items(i))} leave more rows"
    case Scenario.Less(i) => s"the joins with ${RelationName(b.items(i))} leave fewer rows"
    case Scenario.Skewed(k) =>
      s"the most frequent values of ${ExpressionLabel(b.keys(k).head._2)} are the same"
  }
}
